# Completion of helpdesk for bash; made by `helpdesk completion bash`.
_helpdesk() {
    local current="${COMP_WORDS[COMP_CWORD]}" place="helpdesk" word skips="" IFS=$'\n'
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [ -n "$skips" ]; then skips=""; continue; fi
        case "$place $word" in
            "helpdesk serve"|"helpdesk worker"|"helpdesk token"|"helpdesk mail"|"helpdesk import"|"helpdesk export"|"helpdesk kata"|"helpdesk script"|"helpdesk automation"|"helpdesk package"|"helpdesk backup"|"helpdesk restore"|"helpdesk migrate-database"|"helpdesk doctor"|"helpdesk alerts"|"helpdesk completion"|"helpdesk api"|"helpdesk describe"|"helpdesk licenses"|"helpdesk demo"|"helpdesk setup-link"|"helpdesk check"|"helpdesk settings"|"helpdesk worker create"|"helpdesk worker recover"|"helpdesk worker sign-in-link"|"helpdesk worker invite"|"helpdesk token create"|"helpdesk mail import"|"helpdesk import csv"|"helpdesk automation run"|"helpdesk package import"|"helpdesk package export") place="$place $word" ;;
            "helpdesk serve --data"|"helpdesk serve --host"|"helpdesk serve --port"|"helpdesk serve --base-url"|"helpdesk serve --role"|"helpdesk serve --config"|"helpdesk worker create --data"|"helpdesk worker create --email"|"helpdesk worker create --first-name"|"helpdesk worker create --last-name"|"helpdesk worker create --password-file"|"helpdesk worker recover --data"|"helpdesk worker recover --email"|"helpdesk worker sign-in-link --data"|"helpdesk worker invite --data"|"helpdesk worker invite --email"|"helpdesk worker invite --group"|"helpdesk worker invite --language"|"helpdesk token create --data"|"helpdesk token create --worker"|"helpdesk token create --app"|"helpdesk token create --scope"|"helpdesk token create --expires"|"helpdesk mail import --data"|"helpdesk mail import --status"|"helpdesk mail import --group"|"helpdesk import csv --data"|"helpdesk import csv --type"|"helpdesk import csv --column"|"helpdesk import csv --key"|"helpdesk export --data"|"helpdesk kata --data"|"helpdesk script --data"|"helpdesk script --vars"|"helpdesk automation run --data"|"helpdesk automation run --vars"|"helpdesk automation run --policy"|"helpdesk automation run --url"|"helpdesk automation run --ticket"|"helpdesk package import --data"|"helpdesk package import --answer"|"helpdesk package import --conflicts"|"helpdesk package export --data"|"helpdesk package export --name"|"helpdesk backup --data"|"helpdesk restore --data"|"helpdesk migrate-database --data"|"helpdesk migrate-database --to"|"helpdesk migrate-database --config"|"helpdesk doctor --data"|"helpdesk doctor --config"|"helpdesk alerts --data"|"helpdesk api --data"|"helpdesk api --url"|"helpdesk describe --data"|"helpdesk licenses --data"|"helpdesk demo --data"|"helpdesk setup-link --data"|"helpdesk check --data"|"helpdesk settings --data") skips="$place $word" ;;
        esac
    done
    case "$skips" in
        "") ;;
        "helpdesk serve --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk serve --host") :; return ;;
        "helpdesk serve --port") :; return ;;
        "helpdesk serve --base-url") :; return ;;
        "helpdesk serve --role") :; return ;;
        "helpdesk serve --config") COMPREPLY=($(compgen -f -- "$current")); return ;;
        "helpdesk worker create --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk worker create --email") :; return ;;
        "helpdesk worker create --first-name") :; return ;;
        "helpdesk worker create --last-name") :; return ;;
        "helpdesk worker create --password-file") COMPREPLY=($(compgen -f -- "$current")); return ;;
        "helpdesk worker recover --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk worker recover --email") :; return ;;
        "helpdesk worker sign-in-link --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk worker invite --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk worker invite --email") :; return ;;
        "helpdesk worker invite --group") :; return ;;
        "helpdesk worker invite --language") :; return ;;
        "helpdesk token create --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk token create --worker") :; return ;;
        "helpdesk token create --app") :; return ;;
        "helpdesk token create --scope") :; return ;;
        "helpdesk token create --expires") :; return ;;
        "helpdesk mail import --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk mail import --status") COMPREPLY=($(compgen -W $'open\nwaiting\nclosed' -- "$current")); return ;;
        "helpdesk mail import --group") :; return ;;
        "helpdesk import csv --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk import csv --type") :; return ;;
        "helpdesk import csv --column") :; return ;;
        "helpdesk import csv --key") :; return ;;
        "helpdesk export --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk kata --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk script --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk script --vars") :; return ;;
        "helpdesk automation run --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk automation run --vars") :; return ;;
        "helpdesk automation run --policy") COMPREPLY=($(compgen -f -- "$current")); return ;;
        "helpdesk automation run --url") :; return ;;
        "helpdesk automation run --ticket") :; return ;;
        "helpdesk package import --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk package import --answer") :; return ;;
        "helpdesk package import --conflicts") COMPREPLY=($(compgen -W $'refuse\nkeep\ntake' -- "$current")); return ;;
        "helpdesk package export --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk package export --name") :; return ;;
        "helpdesk backup --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk restore --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk migrate-database --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk migrate-database --to") :; return ;;
        "helpdesk migrate-database --config") COMPREPLY=($(compgen -f -- "$current")); return ;;
        "helpdesk doctor --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk doctor --config") COMPREPLY=($(compgen -f -- "$current")); return ;;
        "helpdesk alerts --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk api --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk api --url") :; return ;;
        "helpdesk describe --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk licenses --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk demo --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk setup-link --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk check --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
        "helpdesk settings --data") COMPREPLY=($(compgen -d -- "$current")); return ;;
    esac
    case "$place" in
        "helpdesk") COMPREPLY=($(compgen -W $'serve\nworker\ntoken\nmail\nimport\nexport\nkata\nscript\nautomation\npackage\nbackup\nrestore\nmigrate-database\ndoctor\nalerts\ncompletion\napi\ndescribe\nlicenses\ndemo\nsetup-link\ncheck\nsettings\n-h\n--help\n--version' -- "$current"))
            ;;
        "helpdesk serve") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--host\n--port\n--base-url\n--role\n--no-open\n--config' -- "$current"))
            ;;
        "helpdesk worker") COMPREPLY=($(compgen -W $'create\nrecover\nsign-in-link\ninvite\n-h\n--help' -- "$current"))
            ;;
        "helpdesk worker create") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--email\n--first-name\n--last-name\n--admin\n--password-file' -- "$current"))
            ;;
        "helpdesk worker recover") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--email\n--admin' -- "$current"))
            ;;
        "helpdesk worker sign-in-link") COMPREPLY=($(compgen -W $'-h\n--help\n--data' -- "$current"))
            ;;
        "helpdesk worker invite") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--email\n--admin\n--group\n--language' -- "$current"))
            ;;
        "helpdesk token") COMPREPLY=($(compgen -W $'create\n-h\n--help' -- "$current"))
            ;;
        "helpdesk token create") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--worker\n--app\n--scope\n--expires' -- "$current"))
            ;;
        "helpdesk mail") COMPREPLY=($(compgen -W $'import\n-h\n--help' -- "$current"))
            ;;
        "helpdesk mail import") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--status\n--group' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk import") COMPREPLY=($(compgen -W $'csv\n-h\n--help' -- "$current"))
            ;;
        "helpdesk import csv") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--type\n--column\n--key\n--dry-run' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk export") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--with-secrets' -- "$current"))
            ;;
        "helpdesk kata") COMPREPLY=($(compgen -W $'-h\n--help\n--json-lines\n--data' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk script") COMPREPLY=($(compgen -W $'-h\n--help\n--json-lines\n--data\n--vars' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk automation") COMPREPLY=($(compgen -W $'run\n-h\n--help' -- "$current"))
            ;;
        "helpdesk automation run") COMPREPLY=($(compgen -W $'-h\n--help\n--json-lines\n--data\n--vars\n--policy\n--url\n--ticket\n--simulate' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk package") COMPREPLY=($(compgen -W $'import\nexport\n-h\n--help' -- "$current"))
            ;;
        "helpdesk package import") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--answer\n--dry-run\n--grants\n--update\n--conflicts' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk package export") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--name' -- "$current"))
            ;;
        "helpdesk backup") COMPREPLY=($(compgen -W $'verify\n-h\n--help\n--data' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk restore") COMPREPLY=($(compgen -W $'-h\n--help\n--data' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk migrate-database") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--to\n--estimate\n--config' -- "$current"))
            ;;
        "helpdesk doctor") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--json\n--config' -- "$current"))
            ;;
        "helpdesk alerts") COMPREPLY=($(compgen -W $'-h\n--help\n--data' -- "$current"))
            ;;
        "helpdesk completion") COMPREPLY=($(compgen -W $'bash\nzsh\nfish\npowershell\nman\n-h\n--help' -- "$current"))
            ;;
        "helpdesk api") COMPREPLY=($(compgen -W $'GET\nPOST\nPUT\nPATCH\nDELETE\n-h\n--help\n--data\n--url' -- "$current"))
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        "helpdesk describe") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--json' -- "$current"))
            ;;
        "helpdesk licenses") COMPREPLY=($(compgen -W $'-h\n--help\n--data' -- "$current"))
            ;;
        "helpdesk demo") COMPREPLY=($(compgen -W $'-h\n--help\n--data\n--add\n--remove' -- "$current"))
            ;;
        "helpdesk setup-link") COMPREPLY=($(compgen -W $'-h\n--help\n--data' -- "$current"))
            ;;
        "helpdesk check") COMPREPLY=($(compgen -W $'-h\n--help\n--data' -- "$current"))
            ;;
        "helpdesk settings") COMPREPLY=($(compgen -W $'-h\n--help\n--data' -- "$current"))
            ;;
    esac
}
complete -o filenames -F _helpdesk helpdesk
