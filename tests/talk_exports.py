"""Exports of where groups talk, Slack and WhatsApp, and of Open WebUI, in their real form with made-up content."""

import json
import zipfile
from pathlib import Path
from typing import Any

# ------------------------------------------------------------------------------------------------------- Slack

USERS = [
    {"id": "U01ADA", "team_id": "T01", "name": "ada", "deleted": False, "real_name": "Ada Lovelace", "is_bot": False,
     "profile": {"real_name": "Ada Lovelace", "display_name": "Ada"}},
    {"id": "U02BEN", "team_id": "T01", "name": "ben", "deleted": True, "real_name": "Ben Ito", "is_bot": False,
     "profile": {"real_name": "Ben Ito", "display_name": ""}},
    {"id": "U03ADA", "team_id": "T01", "name": "ada2", "deleted": False, "real_name": "Ada Young", "is_bot": False,
     "profile": {"real_name": "Ada Young", "display_name": "Ada"}},
]  # fmt: skip
CHANNELS = [
    {"id": "C01", "name": "general", "created": 1700000000, "creator": "U01ADA", "is_archived": False,
     "is_general": True, "members": ["U01ADA", "U02BEN"], "topic": {"value": ""}, "purpose": {"value": ""}}
]  # fmt: skip
DIRECT = [{"id": "D01", "created": 1700000000, "members": ["U01ADA", "U02BEN"]}]
SEVERAL = [{"id": "G01", "name": "mpdm-ada--ben--ada2-1", "members": ["U01ADA", "U02BEN", "U03ADA"]}]
ROOT = "1709280000.000100"


def slack_message(ts: str, user: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "client_msg_id": f"{ts}-x", "type": "message", "text": text, "user": user, "ts": ts, "team": "T01",
        "blocks": [{"type": "rich_text", "elements": []}], **more,
    }  # fmt: skip


GENERAL = [
    {"type": "message", "subtype": "channel_join", "user": "U02BEN", "text": "<@U02BEN> joined", "ts": "1709279000.1"},
    slack_message(ROOT, "U01ADA", "<@U02BEN> the ferry leaves at 9 &lt;sharp&gt; &amp; early, see "
                  "<https://example.org/ferry|the timetable> and <#C02|travel> <!here>", thread_ts=ROOT, reply_count=1),
    slack_message("1709280060.000200", "U02BEN", "Nine it is.", thread_ts=ROOT, parent_user_id="U01ADA",
                  edited={"user": "U02BEN", "ts": "1709280120.000000"}),
    slack_message("1709280090.000300", "U03ADA", "I come too."),
    {"type": "message", "subtype": "bot_message", "bot_id": "B01", "username": "Timetable", "text": "",
     "ts": "1709280100.000400", "attachments": [{"fallback": "Ferry is late", "text": "The ferry is *late*."}]},
    slack_message("1709280110.000500", "U01ADA", "", files=[{"id": "F01", "name": "pier.jpg", "mode": "hosted"}],
                  upload=True),
    slack_message("1709280115.000600", "U01ADA", "", hidden=True),
]  # fmt: skip


def slack_zip(path: Path, general: list[Any] | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (
            ("users.json", USERS),
            ("channels.json", CHANNELS),
            ("groups.json", []),
            ("mpims.json", SEVERAL),
            ("dms.json", DIRECT),
            ("integration_logs.json", []),
            ("general/2024-03-01.json", GENERAL if general is None else general),
            ("general/2024-03-02.json", [slack_message("1709366400.000100", "U01ADA", "A new day.")]),
            ("D01/2024-03-01.json", [slack_message("1709280200.000100", "U02BEN", "Between us: it is late.")]),
            ("mpdm-ada--ben--ada2-1/2024-03-01.json", [slack_message("1709280300.1", "U03ADA", "Only us three.")]),
        ):
            archive.writestr(name, json.dumps(content, ensure_ascii=False))
    return path


# ---------------------------------------------------------------------------------------------------- WhatsApp

IOS_GERMAN = (
    "\ufeff[12.03.24, 14:05:33] Familie: \u200eNachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.\r\n"
    "[12.03.24, 14:05:40] Anna: Die Fähre fährt um neun.\r\nWirklich: um neun!\r\n"
    "\u200e[12.03.24, 14:06:02] Ben Ito: Kommt ihr? \u200e<Anhang: 00000012-PHOTO-2024-03-12-14-06-02.jpg>\r\n"
    "[12.03.24, 14:06:10] ~\u202fChris: \u200eBild weggelassen\r\n"
    "[12.03.24, 14:07:00] Anna: Ja. \u200e<Diese Nachricht wurde bearbeitet.>\r\n"
    "[12.03.24, 14:08:00] Ben Ito: Diese Nachricht wurde gelöscht.\r\n"
    "[13.03.24, 09:00:00] Anna: ok\r\n[13.03.24, 09:00:00] Anna: ok\r\n"
)
ANDROID_AMERICAN = (
    "3/9/24, 2:05\u202fPM - Messages and calls are end-to-end encrypted. No one outside of this chat can read them.\n"
    '3/9/24, 2:06\u202fPM - Ada changed the subject from "Trip" to "Trip: Naxos"\n'
    "3/9/24, 2:06\u202fPM - Ada: The ferry leaves at 9: sharp\n"
    "3/9/24, 11:59\u202fPM - Ben: <Media omitted>\n"
    "3/10/24, 12:01\u202fAM - Ben: IMG-20240310-WA0001.jpg (file attached)\nthe pier\n"
    "4/2/24, 7:00\u202fAM - \u2068+44 7700 900123\u2069: hello\n"
)
ANDROID_CHINESE = "2024/3/12 下午2:05 - 小明: 渡轮九点开。\n2024/3/12 下午2:06 - 小红: 好的\n"
UNSURE = "03/04/24, 14:05 - Ada: one\n03/04/24, 14:06 - Ben: two\n"

# --------------------------------------------------------------------------------------------------- Open WebUI


def openwebui_chats() -> list[dict[str, Any]]:
    def message(key: str, parent: str | None, children: list[str], role: str, content: Any, **more: Any) -> Any:
        return {"id": key, "parentId": parent, "childrenIds": children, "role": role, "content": content,
                "timestamp": 1720000000 + len(key), **more}  # fmt: skip

    thought = (
        '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> Ferries…\n'
        "</details>\nAt nine.\n\n<details><summary>More</summary>It is blue.</details>"
    )
    messages = [
        message("q1", None, ["a1", "a22"], "user", "When does the ferry leave?", models=["llama3:8b", "qwen3:4b"],
                files=[{"type": "file", "name": "timetable.pdf"}]),
        message("a1", "q1", [], "assistant", "At eight.", model="llama3:8b", modelName="Llama", done=True),
        message("a22", "q1", ["q333"], "assistant", thought, model="qwen3:4b", modelName="Qwen 3", done=True),
        message("q333", "a22", [], "user", "Thanks."),
    ]  # fmt: skip
    return [
        {
            "id": "0b7c6f00-1111", "user_id": "u-1", "title": "Ferries",
            "chat": {
                "id": "", "title": "Ferries", "models": ["llama3:8b", "qwen3:4b"], "params": {}, "tags": ["travel"],
                "history": {"messages": {one["id"]: one for one in messages}, "currentId": "q333"},
                "messages": [], "timestamp": 1720000000000, "files": [],
            },
            "updated_at": 1720000100, "created_at": 1720000000, "share_id": None, "archived": False, "pinned": False,
            "meta": {"tags": ["travel"]}, "folder_id": None,
        }
    ]  # fmt: skip


OPENWEBUI_MEMORIES = [
    {"id": "m-1", "user_id": "u-1", "content": "Ada likes ferries.", "updated_at": 1720000001, "created_at": 1720000000}
]
