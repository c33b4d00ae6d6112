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
            'export' = 'Write everything to a new folder or zip file, also while a server runs.'
            'kata' = 'Print the tree of a KATA text as JSON, or its first mistake.'
            'script' = 'Print what a template renders.'
            'automation' = 'Automations.'
            'package' = 'Packages.'
            'backup' = 'Copy the database into a new file, also while a server runs.'
            'restore' = 'Put a backup in the place of the database; no server may run.'
            'migrate-database' = 'Copy the database into PostgreSQL, or back into a file; no server may run.'
            'doctor' = 'Look for what is wrong, and say what to do.'
            'alerts' = 'Print alert rules for Prometheus.'
            'completion' = 'Print what a shell needs to complete commands, or the man page.'
            'api' = 'Send a request to a running server; prints the answer.'
            'describe' = 'Describe record types, kinds of field and endpoints.'
            'licenses' = 'Print the licences of all that this program contains.'
            'demo' = 'Make a desk to look at, or remove it; no server may run.'
            'setup-link' = 'Print a new setup link, for a service without administrator.'
            'check' = 'Check the database: integrity, indexes, schema, kept counts; correct wrong counts.'
            'settings' = 'List the settings, their defaults and what they mean.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--version' = 'show program''s version number and exit'
        }
        'helpdesk serve' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--host' = 'address to listen on (127.0.0.1)'
            '--port' = 'port to listen on, 0 for any free one (8200)'
            '--base-url' = 'the address that others reach this service by'
            '--role' = 'what this process is for, where several serve a database: web, worker or all (all)'
            '--no-open' = 'do not open the setup link in a browser'
            '--config' = 'settings file (helpdesk.toml in the data folder)'
        }
        'helpdesk worker' = [ordered]@{
            'create' = 'Create a worker; prints the id.'
            'recover' = 'Print a link for a worker who cannot sign in.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk worker create' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--email' = 'email address, also the name to sign in with'
            '--first-name' = 'given name'
            '--last-name' = 'family name'
            '--admin' = 'make the worker an administrator'
            '--password-file' = 'file whose first line is the password; - asks for it. Without one the worker cannot sign in with a password'
        }
        'helpdesk worker recover' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--email' = 'the address that the worker signs in with'
            '--admin' = 'make the worker an administrator'
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
            'import' = 'Import mail as tickets and replies.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk mail import' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--status' = 'status of the new tickets (open)'
            '--group' = 'name or number of the group of the new tickets, in place of routing'
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
            '--column' = 'write a column to a field; NAME= leaves the column out. Other columns are matched by their names'
            '--key' = 'update the record with the same value of this field'
            '--dry-run' = 'check every row and write nothing'
        }
        'helpdesk export' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--with-secrets' = 'also passwords of mailboxes and accounts, addresses of webhooks, hashes of passwords and tokens'
        }
        'helpdesk kata' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--json-lines' = 'read a request from each line of standard input and answer with a line: {source, vars?} -> {tree, lines, value} or {error: {code, line or path}}; lines count from 0'
            '--data' = 'a data folder whose database is used; no server may run on it'
        }
        'helpdesk script' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--json-lines' = 'read a request from each line of standard input and answer with a line: {template, vars?, delimiters?} -> {out} or {error, line}; delimiters: script (default) or package'
            '--data' = 'a data folder whose database is used; no server may run on it'
            '--vars' = 'the placeholders, as a JSON object'
        }
        'helpdesk automation' = [ordered]@{
            'run' = 'Run an automation; print how it ends, its variables, its log and the commands it took.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk automation run' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--json-lines' = 'read a request from each line of standard input and answer with a line: {script, policy?, vars?, functions?} -> {state, return, vars, logs, message}; functions: {name: {script, policy?, extension_id?}}'
            '--data' = 'a data folder whose database is used; no server may run on it'
            '--vars' = 'the dictionary that it begins with, as a JSON object'
            '--policy' = 'what it may do; without one it may only compute'
            '--url' = 'simulate it on the server at this address, with its records; the token is in HELPDESK_TOKEN'
            '--ticket' = 'with --url: the ticket that it is handed over'
            '--simulate' = 'run on_simulate branches; write nothing, send nothing'
        }
        'helpdesk package' = [ordered]@{
            'import' = 'Import a package: all of it or nothing.'
            'export' = 'Print records as a package, with what is on them.'
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
        }
        'helpdesk package import' = [ordered]@{
            '-h' = 'show this help message and exit'
            '--help' = 'show this help message and exit'
            '--data' = 'the data folder (helpdesk-data)'
            '--answer' = 'answer to a prompt of the package; once for each, or several times where a prompt takes a list'
            '--dry-run' = 'make nothing, and print what would be made'
            '--grants' = 'agree to what the package grants, as --dry-run prints it'
            '--update' = 'change the records that the last import of this package made, by their uid, and make what is missing'
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
            '--estimate' = 'only tell how much there is and about how long it takes'
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
            '--json' = 'as JSON, with commands, filters and all else'
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
            '--add' = 'add it to a service that has tickets already'
            '--remove' = 'remove all of it for good, with its workers and what was written on its tickets since'
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
