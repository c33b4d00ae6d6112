// The page without a connection gives way to the one that was asked for, as soon as there is a connection.
addEventListener("online", () => location.reload());
