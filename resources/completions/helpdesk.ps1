# Completion of helpdesk for PowerShell; made by `helpdesk completion powershell`.
Register-ArgumentCompleter -Native -CommandName helpdesk -ScriptBlock {
    param($word, $ast, $cursor)
    $offers = @{
        'helpdesk' = [ordered]@{
            'serve' = 'Start the server.'
            'worker' = 'Workers.'
            'token' = 'Access tokens.'
            'mail' = 'Mail.'
            'import' = 'Records in CSV files.'
            'export' = 'Export everything to a new folder or zip file, even while a server runs.'
            'kata' = 'Print a KATA text as a JSON tree, or its first error.'
            'script' = 'Render a template and print the result.'
            'automation' = 'Automations.'
            'package' = 'Packages.'
            'backup' = 'Copy the database to a new file, even while a server runs.'
            'restore' = 'Replace the database with a backup; no server may be running.'
            'migrate-database' = 'Copy the database to PostgreSQL, or back to a file; no server may be running.'
            'doctor' = 'Find problems, and say how to fix them.'
            'alerts' = 'Print alert rules for Prometheus.'
            'completion' = 'Print a completion script for your shell, or the man page.'
            'api' = 'Send a request to a running server, and print the response.'
            'describe' = 'Describe record types, kinds of field and endpoints.'
            'licenses' = 'Print the licenses of everything that this program contains.'
            'demo' = 'Add demo data, or remove it; no server may be running.'
            'setup-link' = 'Print a new setup link, for a service without an administrator.'
            'check' = 'Check the database: integrity, indexes, schema, stored counts; correct wrong counts.'
            'settings' = 'List the settings, their defaults and their meaning.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--version' = 'show program''s version number and exit'
        }
        'helpdesk serve' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--host' = 'address to listen on (127.0.0.1)'
            '--port' = 'port to listen on, 0 for any free port (8200)'
            '--base-url' = 'the address where others reach this service'
            '--role' = 'role of this process if several serve one database: web, worker or all (all)'
            '--no-open' = 'do not open the setup link in a browser'
            '--config' = 'settings file (helpdesk.toml in the data folder)'
        }
        'helpdesk worker' = [ordered]@{
            'create' = 'Create a worker; prints the id.'
            'recover' = 'Print a link for a worker who cannot sign in.'
            'sign-in-link' = 'Print a link that signs a worker in once.'
            'invite' = 'Print a link that invites a new worker.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk worker create' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--email' = 'email address, also used to sign in'
            '--first-name' = 'given name'
            '--last-name' = 'family name'
            '--admin' = 'make the worker an administrator'
            '--password-file' = 'file whose first line is the password; - prompts for it. Without this, the worker cannot sign in with a password'
        }
        'helpdesk worker recover' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--email' = 'the worker''s sign-in address'
            '--admin' = 'make the worker an administrator'
        }
        'helpdesk worker sign-in-link' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
        }
        'helpdesk worker invite' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--email' = 'the address that they will sign in with'
            '--admin' = 'they become an administrator'
            '--group' = 'group to join; may be repeated'
            '--language' = 'locale of their account (en_US)'
        }
        'helpdesk token' = [ordered]@{
            'create' = 'Create an access token; prints the token and nothing else.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk token create' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--worker' = 'the worker that requests act as'
            '--app' = 'OAuth app (Token generator)'
            '--scope' = 'scopes of the app, separated by spaces (api)'
            '--expires' = 'such as ''30 days'' or 2027-01-31 (1 hour)'
        }
        'helpdesk mail' = [ordered]@{
            'import' = 'Import email as tickets and replies.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk mail import' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--status' = 'status of the new tickets (open)'
            '--group' = 'name or ID of the group of the new tickets, instead of routing'
        }
        'helpdesk import' = [ordered]@{
            'csv' = 'Import a CSV file as records.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk import csv' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--type' = 'the record type, such as contact'
            '--column' = 'write a column to a field; NAME= leaves the column out. Other columns are matched by name'
            '--key' = 'update the record with the same value of this field'
            '--dry-run' = 'check all rows without writing anything'
        }
        'helpdesk export' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--with-secrets' = 'include passwords of mailboxes and accounts, addresses of webhooks, hashes of passwords and tokens'
        }
        'helpdesk kata' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--json-lines' = 'read a request from each line of standard input, and write one line for each: {source, vars?} -> {tree, lines, value} or {error: {code, line or path}}; lines count from 0'
            '--data' = 'data folder whose database to use; no server may be running on it'
        }
        'helpdesk script' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--json-lines' = 'read a request from each line of standard input, and write one line for each: {template, vars?, delimiters?} -> {out} or {error, line}; delimiters: script (default) or package'
            '--data' = 'data folder whose database to use; no server may be running on it'
            '--vars' = 'the placeholders, as a JSON object'
        }
        'helpdesk automation' = [ordered]@{
            'run' = 'Run an automation; print its result, variables, log and commands.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk automation run' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--json-lines' = 'read a request from each line of standard input, and write one line for each: {script, policy?, vars?, functions?} -> {state, return, vars, logs, message}; functions: {name: {script, policy?, extension_id?}}'
            '--data' = 'data folder whose database to use; no server may be running on it'
            '--vars' = 'the initial dictionary, as a JSON object'
            '--policy' = 'its policy; without one, it can only compute'
            '--url' = 'simulate it on the server at this address, with its records; the token is in HELPDESK_TOKEN'
            '--ticket' = 'with --url: the ticket that it is handed over'
            '--simulate' = 'run on_simulate branches; write and send nothing'
        }
        'helpdesk package' = [ordered]@{
            'import' = 'Import a package: all of it or nothing.'
            'export' = 'Print records as a package, with everything that belongs to them.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk package import' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--answer' = 'answer to a prompt of the package; repeat for each prompt, or several times for a prompt that takes a list'
            '--dry-run' = 'create nothing, and print what would be created'
            '--grants' = 'agree to what the package grants, as printed by --dry-run'
            '--update' = 'update the records of the last import of this package, by their uid, and create missing ones'
            '--conflicts' = 'with --update, for fields that changed both here and in the package: refuse changes nothing and names them, keep keeps what is here, take takes what the package says'
        }
        'helpdesk package export' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--name' = 'name of the package'
        }
        'helpdesk backup' = [ordered]@{
            'verify' = 'verify'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
        }
        'helpdesk restore' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
        }
        'helpdesk migrate-database' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--to' = 'postgresql://USER@HOST/NAME of an empty database, or the path of a new file'
            '--estimate' = 'only show how much data there is and about how long it takes'
            '--config' = 'settings file (helpdesk.toml in the data folder)'
        }
        'helpdesk doctor' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--json' = 'as JSON: a list of {part, state, found, advice}'
            '--config' = 'settings file (helpdesk.toml in the data folder)'
        }
        'helpdesk alerts' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
        }
        'helpdesk completion' = [ordered]@{
            'bash' = 'bash'
            'zsh' = 'zsh'
            'fish' = 'fish'
            'powershell' = 'powershell'
            'man' = 'man'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk api' = [ordered]@{
            'GET' = 'GET'
            'POST' = 'POST'
            'PUT' = 'PUT'
            'PATCH' = 'PATCH'
            'DELETE' = 'DELETE'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--url' = 'address of the server, such as https://desk.example'
        }
        'helpdesk describe' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--json' = 'as JSON, with commands, filters and everything else'
        }
        'helpdesk licenses' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
        }
        'helpdesk demo' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--add' = 'add it to a service that already has tickets'
            '--remove' = 'permanently remove all of it, with its workers and everything written on its tickets since'
        }
        'helpdesk setup-link' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
        }
        'helpdesk check' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
        }
        'helpdesk settings' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
        }
    }
    $values = @{
        'helpdesk serve --data' = @()
        'helpdesk serve --host' = @()
        'helpdesk serve --port' = @()
        'helpdesk serve --base-url' = @()
        'helpdesk serve --role' = @()
        'helpdesk serve --config' = @()
        'helpdesk worker create --data' = @()
        'helpdesk worker create --email' = @()
        'helpdesk worker create --first-name' = @()
        'helpdesk worker create --last-name' = @()
        'helpdesk worker create --password-file' = @()
        'helpdesk worker recover --data' = @()
        'helpdesk worker recover --email' = @()
        'helpdesk worker sign-in-link --data' = @()
        'helpdesk worker invite --data' = @()
        'helpdesk worker invite --email' = @()
        'helpdesk worker invite --group' = @()
        'helpdesk worker invite --language' = @()
        'helpdesk token create --data' = @()
        'helpdesk token create --worker' = @()
        'helpdesk token create --app' = @()
        'helpdesk token create --scope' = @()
        'helpdesk token create --expires' = @()
        'helpdesk mail import --data' = @()
        'helpdesk mail import --status' = @('open', 'waiting', 'closed')
        'helpdesk mail import --group' = @()
        'helpdesk import csv --data' = @()
        'helpdesk import csv --type' = @()
        'helpdesk import csv --column' = @()
        'helpdesk import csv --key' = @()
        'helpdesk export --data' = @()
        'helpdesk kata --data' = @()
        'helpdesk script --data' = @()
        'helpdesk script --vars' = @()
        'helpdesk automation run --data' = @()
        'helpdesk automation run --vars' = @()
        'helpdesk automation run --policy' = @()
        'helpdesk automation run --url' = @()
        'helpdesk automation run --ticket' = @()
        'helpdesk package import --data' = @()
        'helpdesk package import --answer' = @()
        'helpdesk package import --conflicts' = @('refuse', 'keep', 'take')
        'helpdesk package export --data' = @()
        'helpdesk package export --name' = @()
        'helpdesk backup --data' = @()
        'helpdesk restore --data' = @()
        'helpdesk migrate-database --data' = @()
        'helpdesk migrate-database --to' = @()
        'helpdesk migrate-database --config' = @()
        'helpdesk doctor --data' = @()
        'helpdesk doctor --config' = @()
        'helpdesk alerts --data' = @()
        'helpdesk api --data' = @()
        'helpdesk api --url' = @()
        'helpdesk describe --data' = @()
        'helpdesk licenses --data' = @()
        'helpdesk demo --data' = @()
        'helpdesk setup-link --data' = @()
        'helpdesk check --data' = @()
        'helpdesk settings --data' = @()
    }
    $place = 'helpdesk'
    $option = ''
    foreach ($each in ($ast.CommandElements | Select-Object -Skip 1)) {
        if ($each.Extent.EndOffset -ge $cursor) { break }
        $next = "$place $each"
        if ($option) { $option = '' }
        elseif ($offers.ContainsKey($next)) { $place = $next }
        elseif ($values.ContainsKey($next)) { $option = $next }
    }
    if ($option) {
        $values[$option] | Where-Object { $_ -like "$word*" }
    } else {
        $offers[$place].GetEnumerator() | Where-Object { $_.Key -like "$word*" } | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($_.Key, $_.Key, 'ParameterValue', $_.Value)
        }
    }
}
