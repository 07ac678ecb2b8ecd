"""For every command calls that must work. `{words}` stand for what the world holds (see `world.py`)."""

from tests.relayboard.every_command.leaves import Leaf

GOOD: dict[Leaf, tuple[str, ...]] = {
    ("migrate",): ("", "--to head"),
    ("status",): ("", "--json"),
    ("backup",): ("{folder}/backup.zip",),
    ("move",): (
        "--workspace {workspace} --status",
        "--workspace {workspace} --status --from https://old.example.org/ --json --report {folder}/move.html",
    ),
    ("completion",): ("bash", "zsh", "fish"),
    ("workspace", "create"): (
        "--name Clinics",
        "--name 'Ñandú ☕' --country rw --timezone Africa/Kigali --language kin --language eng "
        "--date-style month_first --anon",
    ),
    ("workspace", "list"): ("",),
    ("workspace", "export"): ("--workspace {workspace} {folder}/workspace.zip",),
    ("workspace", "import"): ("{elsewhere}",),
    ("workspace", "show"): ("--workspace {workspace}", "{workspace}"),
    ("workspace", "change"): (
        "--workspace {workspace} --timezone Europe/Paris --date-style year_first --language kin --anon no "
        "--origin https://app.example.org --origin http://localhost:5173",
        "{workspace} --name 'Riverside Health' --country RW --timezone Africa/Kigali",
    ),
    ("user", "create"): (
        "--workspace {workspace} --email new@example.org --role viewer",
        "--workspace {workspace} --email {editor} --role editor",
        "--workspace {workspace} --email Eve@Example.ORG --role agent --first-name Eve --last-name 'de la Cruz'",
    ),
    ("user", "invite"): (
        "--workspace {workspace} --email grace@example.org --role agent --url https://sms.example.org",
    ),
    ("user", "password"): (
        "--email {editor} < 'the river is wide in march'",
        "{editor} --drop-two-factor < 'the river is wide in may'",
    ),
    ("user", "list"): ("--workspace {workspace}",),
    ("invitation", "list"): ("--workspace {workspace}",),
    ("invitation", "withdraw"): ("--workspace {workspace} {invitation}",),
    ("session", "list"): ("--email {editor}",),
    ("session", "end"): ("{session}", "--email {administrator}"),
    ("audit", "list"): (
        "--workspace {workspace}",
        "--workspace {workspace} --resource users --action created --user {editor} --after 2026-01-01 "
        "--before 2100-01-01T00:00Z --limit 5",
    ),
    ("user", "show"): ("--workspace {workspace} {administrator}", "--workspace {workspace} --email {administrator}"),
    ("user", "change"): ("--workspace {workspace} {agent} --role surveyor",),
    ("user", "remove"): ("--workspace {workspace} {leaver}",),
    ("token", "create"): (
        "--workspace {workspace} --email {administrator}",
        "--workspace {workspace} --email {administrator} --scope read",
        "--workspace {workspace} --email {administrator} --name Mirror --days 90 --area contacts --area flows",
        "--workspace {workspace} --email {administrator} --expires 2100-01-01",
    ),
    ("token", "list"): ("--workspace {workspace}", "--workspace {workspace} --email {administrator}"),
    ("token", "revoke"): (
        "--workspace {workspace} {public}",
        "--workspace {workspace} - < {token}",
        "--workspace {workspace} --email {agent} --yes",
    ),
    ("secrets", "renew"): ("",),
    ("channel", "list"): ("--workspace {workspace}",),
    ("channel", "show"): ("{channel}", "--channel {channel}"),
    ("channel", "health"): ("--channel {channel}", "{channel}"),
    ("channel", "alarms"): ("--workspace {workspace} --channel {channel}",),
    ("channel", "calls"): ("--workspace {workspace} --channel {gateway} --outcome refused --limit 5",),
    ("channel", "check"): ("{bot} --wait 0", "--channel {bot} --connect --wait 0"),
    ("channel", "change"): (
        "--channel {gateway} --name 'Old gateway' --allow-international yes",
        "{gateway} --send-url https://sms.example.org/v2/send --max-length 300 --reset method",
        "{channel} --transliterate yes --cost-per-segment 0.0075 --sending-hours 'mon-fri 08:00-18:00' "
        "--automatic-per-day 500 --reset sending_hours",
    ),
    ("channel", "claim"): (
        "--workspace {workspace} --claim-code {claim_code} --phone +250788123123 --name 'Front desk'",
    ),
    ("channel", "create"): (
        "--workspace {workspace} --name Aggregator --address 8181 --send-url https://sms.example.org/send",
        "--workspace {workspace} --type external --name Hub --address hub --scheme telegram --country rw "
        "--send-url http://hub.example.org/ --method PUT --content-type json --body {{}} --max-length 640 "
        "--authorization-file {secret_file} --response-check accepted --allow-international",
        "--workspace {workspace} --name Paid --address 8184 --send-url https://sms.example.org/send --transliterate no "
        "--cost-per-segment 0.01 --sending-hours 'sat,sun 00:00-24:00' --automatic-per-day 0",
        "--workspace {workspace} --name Quiet --address 8182 --send-url-file {url_file} --body-file {secret_file}",
        "--workspace {workspace} --name Piped --address 8183 --send-url https://sms.example.org/send "
        "--authorization-file - < hush",
    ),
    ("channel", "webhook"): (
        "--channel {channel} --url https://example.org/hook --event mo_sms --event mt_sent",
        "--channel {channel} --url-file {url_file}",
        "--channel {channel} --rotate",
        "{channel} --on",
        "--channel {channel} --off",
    ),
    ("channel", "limit"): ("--channel {gateway} --messages-per-second 2.5", "{gateway} --off"),
    ("channel", "secret"): ("--channel {gateway}", "{gateway} --rotate --end-former"),
    ("channel", "release"): ("{spare_channel}",),
    ("contact", "create"): (
        "--workspace {workspace} --name 'Ann Lee' --urn tel:+250788000222 --language eng --group Mothers "
        "--field age=27",
        "--workspace {workspace}",
    ),
    ("contact", "list"): (
        "--workspace {workspace}",
        "--workspace {workspace} --query 'fields.age >= 18' --group {group} --limit 5",
    ),
    ("contact", "renumber"): (
        "--workspace {workspace} --old +229 --new +22901",
        "--workspace {workspace} --old +229 --new +22901 --country BJ --apply",
    ),
    ("contact", "doubles"): (
        "--workspace {workspace} --limit 5",
        "--workspace {workspace} --kind old_number --merge --yes",
    ),
    ("contact", "show"): ("--workspace {workspace} tel:+250788000444",),
    ("contact", "change"): (
        "--workspace {workspace} --name 'Ann Li' --field age= --group {other_group} tel:+250788000444",
        "--workspace {workspace} --language '' tel:+250788000444",
    ),
    ("contact", "imports"): ("--workspace {workspace} --limit 5",),
    ("contact", "cancel-import"): ("--workspace {workspace} {import}",),
    ("contact", "take-back-import"): (
        "--workspace {workspace} {past_import} --dry-run",
        "--workspace {workspace} --yes {past_import}",
    ),
    ("message", "send"): ("--workspace {workspace} --contact tel:+250788000444 --text Hello",),
    ("message", "list"): ("--workspace {workspace}", "--workspace {workspace} --folder outbox --limit 1"),
    ("contact", "answer"): ("--workspace {workspace} tel:+250788000444",),
    ("message", "resend"): ("--workspace {workspace} {failed_message}",),
    ("message", "show"): ("--workspace {workspace} {message}",),
    ("broadcast", "create"): (
        "--workspace {workspace} --text 'Hello @contact.name' --contact {contact} --group Mothers "
        "--urn tel:+250788000333",
        "--workspace {workspace} --text Hello --group Mothers --at {tomorrow}",
        "--workspace {workspace} --text Hello --query 'name = Ann' --draft",
        "--workspace {workspace} --text Hello --group Mothers --at {tomorrow} --repeat monthly --days 31 --times 3",
    ),
    ("broadcast", "list"): (
        "--workspace {workspace}",
        "--workspace {workspace} --scheduled",
        "--workspace {workspace} --drafts",
    ),
    ("broadcast", "change"): (
        "--workspace {workspace} --text 'Come at 9' --query 'name = Ann' --group Mothers {draft}",
        "--workspace {workspace} --at {tomorrow} --repeat weekly --days MW --times 4 {draft}",
        "--workspace {workspace} --at {tomorrow} --repeat never --send {draft}",
        "--workspace {workspace} --draft {draft}",
    ),
    ("broadcast", "delete"): ("--workspace {workspace} --yes {spare_draft}",),
    ("broadcast", "stop"): ("--workspace {workspace} --yes {broadcast}",),
    ("broadcast", "show"): ("--workspace {workspace} {broadcast}",),
    ("contact", "copy"): ("--workspace {workspace} --output {folder}/ann.zip tel:+250788000444",),
    ("contact", "erase"): ("--workspace {workspace} --yes {erased}",),
    ("archive", "import"): ("--workspace {workspace} {archive}",),
    ("export",): (
        "--workspace {workspace} --group Mothers --query 'tel = +250788000444' {folder}/ann.xlsx",
        "--workspace {workspace} --type messages --folder inbox --after 2026-03-01 {folder}/messages.csv",
        "--workspace {workspace} --type runs --before 2100-01-01 {folder}/runs.jsonl",
        "--workspace {workspace} --type tickets {folder}/tickets.csv",
    ),
    ("contact", "import"): (
        "--workspace {workspace} --dry-run {people_file}",
        "--workspace {workspace} --group Mothers --new-fields --output {folder}/rejected.csv "
        "--map 'Second phone=urn:tel' {people_file}",
    ),
    ("contact", "delete"): ("--workspace {workspace} --yes tel:+250788000666",),
    ("group", "list"): ("--workspace {workspace} --limit 3",),
    ("group", "show"): ("--workspace {workspace} {group}",),
    ("group", "change"): ("--workspace {workspace} --name Neighbors {other_group}",),
    ("group", "delete"): ("--workspace {workspace} --yes {spare_group}",),
    ("group", "create"): (
        "--workspace {workspace} --name Fathers",
        "--workspace {workspace} --name Adults --query 'name = \"Amina\"'",
    ),
    ("label", "create"): ("--workspace {workspace} --name Urgent",),
    ("topic", "create"): ("--workspace {workspace} --name Billing",),
    ("team", "create"): ("--workspace {workspace} --name Night --topic {topic} --member {administrator} --in-turn no",),
    ("campaign", "list"): ("--workspace {workspace}",),
    ("campaign", "archive"): ("{spare_campaign}",),
    ("campaign", "restore"): ("{put_away_campaign} --group Campaigners",),
    ("resthook", "create"): ("--workspace {workspace} --slug new-birth",),
    ("resthook", "subscribers"): ("--workspace {workspace}",),
    ("resthook", "secret"): (
        "--workspace {workspace} --subscriber {subscriber}",
        "--workspace {workspace} {subscriber} --rotate",
    ),
    ("resthook", "switch-on"): ("--workspace {workspace} {subscriber}",),
    ("global", "create"): (
        "--workspace {workspace} --name 'Clinic Phone' --value 112",
        "--workspace {workspace} --name Key --value-file - < hush",
    ),
    ("optin", "create"): ("--workspace {workspace} --name News",),
    ("ticketer", "create"): ("--workspace {workspace} --name Desk --type zendesk",),
    ("classifier", "create"): ("--workspace {workspace} --name Booking --type wit --intent book --intent cancel",),
    ("template", "create"): (
        "--workspace {workspace} --name reminder --channel {channel} --locale swa-KE --content 'Karibu {{{{1}}}}'",
        "--workspace {workspace} --name reminder --channel {channel} --locale eng --content Hi --namespace n "
        "--status pending",
    ),
    ("ticket", "create"): (
        "--workspace {workspace} --contact {contact} --topic General --assignee {administrator} --note Hello",
    ),
    ("ticket", "open"): (
        "--workspace {workspace} --contact {other_contact} --topic {topic} --assignee {administrator} --note Hello",
    ),
    ("field", "create"): ("--workspace {workspace} --name 'Due Date' --type datetime --agents edit",),
    ("field", "access"): ("--workspace {workspace} age --agents none",),
    ("media", "list"): ("--workspace {workspace}",),
    ("media", "delete"): ("--workspace {workspace} {media}",),
    ("flow", "import"): ("--workspace {workspace} {export}",),
    ("flow", "export"): (
        "--workspace {workspace}",
        "--workspace {workspace} --folder {folder}/flows",
        "--workspace {workspace} --flow {flow} --campaign {campaign} --dependencies none -o {folder}/written.json",
    ),
    ("flow", "list"): ("--workspace {workspace}",),
    ("flow", "change"): ("--workspace {workspace} --flow {flow} --ignore-triggers yes",),
    ("flow", "label"): (
        "--workspace {workspace} --flow {flow} --name Health",
        "--workspace {workspace} {flow} --name Health --remove",
    ),
    ("flow", "archive"): ("--workspace {workspace} {spare_flow}",),
    ("flow", "run"): (
        "{definition} < Yes",
        '{definition} --json --flow Welcome --workspace {workspace} --params {{}} --contact \'{{"name": "Bob"}}\'',
    ),
    ("flow", "check"): ("{definition}", "{definition} --json"),
    ("flow", "test"): ("{tested}", "{tested} --json --workspace {workspace}"),
    ("flow", "draw"): ("{definition}", "{definition} --flow Welcome -o {folder}/flow.svg"),
    ("flow", "texts"): ("{definition} --language fra", "{definition} --language fra --flow Welcome -o {folder}/t.csv"),
    ("flow", "translate"): (
        "{definition} {translations} --language fra",
        "{definition} {translations} --language fra --flow Welcome -o {folder}/translated.json",
    ),
    ("trigger", "create"): (
        "--workspace {workspace} --flow {flow} --type keyword --keyword join --match only --channel {channel} "
        "--group {group} --exclude-group {other_group}",
        "--workspace {workspace} --flow {flow} --type schedule --at 2099-05-04T08:00 --repeat weekly --days MWF "
        "--contact {contact}",
    ),
    ("trigger", "list"): ("--workspace {workspace}",),
    ("trigger", "show"): ("--workspace {workspace} {trigger}",),
    ("trigger", "change"): (
        "--workspace {workspace} {trigger} --flow {flow} --keyword hello --match only --channel {channel} "
        "--group {group} --exclude-group {other_group}",
        "--workspace {workspace} {schedule} --contact {contact} --at 2099-05-04T08:00 --repeat weekly --days MF",
    ),
    ("trigger", "archive"): ("--workspace {workspace} {trigger}",),
    ("trigger", "restore"): ("--workspace {workspace} {trigger}",),
    ("trigger", "delete"): ("--workspace {workspace} --yes {spare_trigger}",),
    ("start", "list"): ("--workspace {workspace}",),
    ("start", "interrupt"): ("--workspace {workspace} {start}", "--workspace {workspace} {start} --runs"),
    ("boundaries", "import"): ("{boundaries}", "{boundaries} --country RW"),
    ("boundaries", "alias"): (
        "--workspace {workspace} --boundary R171496 --name Urwanda",
        "--workspace {workspace} R171496 --name Urwanda --remove",
    ),
    ("delivery", "list"): (
        "--workspace {workspace}",
        "--workspace {workspace} --status failed --channel {channel} --limit 5",
        "--workspace {workspace} --receiver {subscriber} --event resthook --contact {contact} --since 2026-03-01 "
        "--until 2026-03-02",
    ),
    ("delivery", "resend"): (
        "--workspace {workspace} --delivery {delivery}",
        "--workspace {workspace} --failed-since 2026-03-01",
        "--workspace {workspace} --failed-since 2026-03-01 --receiver {subscriber}",
    ),
    ("delivery", "test"): (
        "--workspace {workspace} --channel {hooked_channel}",
        "--workspace {workspace} --receiver {subscriber}",
    ),
    ("delivery", "show"): (
        "--workspace {workspace} {delivery}",
        "--workspace {workspace} --delivery {delivery}",
    ),
    ("delivery", "ledger"): ("--workspace {workspace}",),
    ("webhook", "list"): ("--workspace {workspace} --limit 5",),
    ("webhook", "subscribe"): (
        "--workspace {workspace} --url https://example.org/events --event contact.created --event ticket.opened",
        "--workspace {workspace} --url-file {url_file} --event message.failed",
    ),
    ("webhook", "unsubscribe"): ("--workspace {workspace} --yes {spare_subscription}",),
    ("webhook", "set"): (
        "--workspace {workspace} {subscription} --url https://example.org/elsewhere --event run.completed",
        "--workspace {workspace} --receiver {subscriber} --retry-delay 5 --retry-delay 300 --requests-per-second 2",
        "--workspace {workspace} --receiver {subscriber} --default-retries --no-limit --signature ed25519 --off",
        "--workspace {workspace} --receiver {subscriber} --format json",
        "--workspace {workspace} {subscriber} --on",
    ),
    ("webhook", "secret"): ("--workspace {workspace} {subscriber}",),
    ("label", "list"): ("--workspace {workspace}",),
    ("label", "show"): ("--workspace {workspace} {label}",),
    ("label", "change"): ("--workspace {workspace} --name Later {label}",),
    ("label", "delete"): ("--workspace {workspace} --yes {label}",),
    ("topic", "list"): ("--workspace {workspace}",),
    ("topic", "show"): ("--workspace {workspace} {topic}",),
    ("topic", "change"): ("--workspace {workspace} --name Wellness {topic}",),
    ("topic", "delete"): ("--workspace {workspace} --yes Spare",),
    ("team", "list"): ("--workspace {workspace}",),
    ("team", "show"): ("--workspace {workspace} Days",),
    ("team", "change"): (
        "--workspace {workspace} --name Evenings --topic {topic} --member {administrator} --in-turn yes Days",
    ),
    ("team", "delete"): ("--workspace {workspace} --yes Spare",),
    ("global", "list"): ("--workspace {workspace}",),
    ("global", "show"): ("--workspace {workspace} hotline",),
    ("global", "change"): (
        "--workspace {workspace} --value 113 hotline",
        "--workspace {workspace} --name Help hotline",
    ),
    ("global", "delete"): ("--workspace {workspace} --yes hotline",),
    ("field", "list"): ("--workspace {workspace}",),
    ("field", "show"): ("--workspace {workspace} age",),
    ("field", "change"): ("--workspace {workspace} --name Years age", "--workspace {workspace} --type text age"),
    ("field", "delete"): ("--workspace {workspace} --yes village",),
    ("optin", "list"): ("--workspace {workspace}",),
    ("optin", "change"): ("--workspace {workspace} --name Hints {optin}",),
    ("optin", "show"): ("--workspace {workspace} {optin}",),
    ("optin", "delete"): ("--workspace {workspace} --yes {optin}",),
    ("ticketer", "list"): ("--workspace {workspace}",),
    ("ticketer", "change"): ("--workspace {workspace} --name 'Desk 2' {ticketer}",),
    ("ticketer", "show"): ("--workspace {workspace} {ticketer}",),
    ("classifier", "list"): ("--workspace {workspace}",),
    ("classifier", "change"): (
        "--workspace {workspace} --intent book --intent cancel {classifier}",
        "--workspace {workspace} --name Luis2 {classifier}",
    ),
    ("classifier", "show"): ("--workspace {workspace} {classifier}",),
    ("template", "list"): ("--workspace {workspace}",),
    ("template", "show"): ("--workspace {workspace} {template}",),
    ("resthook", "show"): ("--workspace {workspace} old-birth",),
    ("resthook", "list"): ("--workspace {workspace}",),
    ("resthook", "delete"): ("--workspace {workspace} --yes spare-birth",),
    ("ticket", "list"): ("--workspace {workspace}",),
    ("ticket", "change"): (
        "--workspace {workspace} --assignee {administrator} --topic {topic} {ticket}",
        "--workspace {workspace} --unassign --status closed {ticket}",
        "--workspace {workspace} --status open {ticket}",
    ),
    ("ticket", "show"): ("--workspace {workspace} {ticket}",),
    ("campaign", "create"): ("--workspace {workspace} --name Births --group {group}",),
    ("campaign", "change"): ("--workspace {workspace} --name Care --group Mothers {campaign}",),
    ("campaign", "show"): ("--workspace {workspace} {campaign}",),
    ("flow", "show"): ("--workspace {workspace} {flow}",),
    ("start", "create"): (
        "--workspace {workspace} --flow {flow} --group {group} --only-new --not-busy",
        "--workspace {workspace} --flow {flow} --query 'name = \"Amina\"'",
        "--workspace {workspace} --flow {flow} --urn tel:+250788000444 --params '{{\"visit\": 2}}'",
    ),
    ("start", "show"): ("--workspace {workspace} {start}",),
    ("phone", "register"): ("--server {server} --state {folder}/phone.json --country rw :",),
    ("phone", "sync"): (
        "--server {server} --state {folder}/phone.json :",
        "--server {server} --state {folder}/phone.json --wire : --clock-offset -1000 --lose-replies 2",
    ),
    ("phone", "show"): ("--server {server} --state {folder}/phone.json :",),
    ("phone", "receive"): ("--server {server} --state {folder}/phone.json : +250788000111 Hello",),
    ("phone", "call"): ("--server {server} --state {folder}/phone.json : --seconds 3 mo_miss +250788000111",),
    ("phone", "send"): (
        "--server {server} --state {folder}/phone.json :",
        "--server {server} --state {folder}/phone.json : --no-delivery",
        "--server {server} --state {folder}/phone.json : --fail",
    ),
    ("phone", "report"): ("--server {server} --state {folder}/phone.json : mt_error 90311",),
    ("phone", "queue"): ("""--server {server} --state {folder}/phone.json : '{{"cmd": "signal", "dbm": -71}}'""",),
    ("phone", "battery"): ("--server {server} --state {folder}/phone.json : --status CHA --source AC 80",),
    ("phone", "status"): (
        "--server {server} --state {folder}/phone.json : --network LTE --device SM-A135F --os 14 --app-version 2.2.0",
    ),
    ("phone", "reset"): ("--server {server} --state {folder}/phone.json --lagging :",),
    ("phone", "run"): (
        "--server {server} --state {folder}/runner.json : --every 0.01 --syncs 2",
        "--server {server} --state {folder}/runner.json : --every 0.01 --syncs 2 --push-port 0",
    ),
}

APART: dict[Leaf, tuple[str, ...]] = {
    ("doctor",): ("",),
    ("restore",): ("{folder}/backup.zip",),
    ("copy-database",): ("--from sqlite:///var/relayboard.db --to postgresql://user:password@127.0.0.1:1/name",),
}
"""Those that need a place of their own (tests/persistence/backups, tests/relayboard/doctor)."""

SERVICES: dict[Leaf, tuple[str, ...]] = {
    ("serve",): ("--port 0", "--host ::1 --port 0 --workers 2 --no-worker"),
    ("worker",): ("", "--workers 2 --senders 1", "--metrics-host 127.0.0.1 --metrics-port 0"),
    ("demo",): ("--port 0",),
    ("webhook", "listen"): ("--port 0 --secret-file {secret_file} --reply Thanks", "--port 0"),
}
"""Those that go on until they are told to stop."""

TEXT = {("flow", "run"), ("flow", "test"), ("flow", "check"), ("flow", "draw"), ("flow", "export"), ("completion",)}
TEXT |= {("flow", "texts"), ("flow", "translate")}
"""Commands that write for people unless they are asked for JSON."""
QUIET = {("flow", "check"), ("flow", "draw"), ("flow", "export"), ("flow", "texts"), ("flow", "translate")}
"""Those that have nothing to say when nothing is wrong, or write to a file."""
