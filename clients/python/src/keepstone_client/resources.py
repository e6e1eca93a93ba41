"""Everything that a client can do, as attributes of it."""

from typing import Generic

from keepstone_client.accounts import Audit, Keys, Me, Sessions, Users
from keepstone_client.binding import D
from keepstone_client.capsules import Capsules
from keepstone_client.chats import Artifacts, Chats, Files, Memories, Workspaces
from keepstone_client.everything import Everything
from keepstone_client.graphs import Graphs
from keepstone_client.operations import Health, Usage
from keepstone_client.providers import Providers
from keepstone_client.rooms import Agents, Directs, Facts, Invitations, Profiles, Projects, Rooms
from keepstone_client.scopes import Scopes
from keepstone_client.stores import Stores
from keepstone_client.traces import Traces
from keepstone_client.transfer import Exports, Imports


class Resources(Generic[D]):
    def _offer(self, driver: D) -> None:
        self.me: Me[D] = Me(driver)
        self.users: Users[D] = Users(driver)
        self.keys: Keys[D] = Keys(driver)
        self.sessions: Sessions[D] = Sessions(driver)
        self.audit: Audit[D] = Audit(driver)
        self.capsules: Capsules[D] = Capsules(driver)
        self.projects: Projects[D] = Projects(driver)
        self.workspaces: Workspaces[D] = Workspaces(driver)
        self.chats: Chats[D] = Chats(driver)
        self.memories: Memories[D] = Memories(driver)
        self.files: Files[D] = Files(driver)
        self.artifacts: Artifacts[D] = Artifacts(driver)
        self.agents: Agents[D] = Agents(driver)
        self.rooms: Rooms[D] = Rooms(driver)
        self.invitations: Invitations[D] = Invitations(driver)
        self.dms: Directs[D] = Directs(driver)
        self.profiles: Profiles[D] = Profiles(driver)
        self.facts: Facts[D] = Facts(driver)
        self.graphs: Graphs[D] = Graphs(driver)
        self.scopes: Scopes[D] = Scopes(driver)
        self.stores: Stores[D] = Stores(driver)
        self.everything: Everything[D] = Everything(driver)
        self.traces: Traces[D] = Traces(driver)
        self.providers: Providers[D] = Providers(driver)
        self.imports: Imports[D] = Imports(driver)
        self.exports: Exports[D] = Exports(driver)
        self.usage: Usage[D] = Usage(driver)
        self.health: Health[D] = Health(driver)
