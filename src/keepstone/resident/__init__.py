"""The numbers of the spaces that are being asked, in memory. Never a text: what may be read, the database decides."""

from keepstone.resident.arrays import View
from keepstone.resident.cache import ResidentSpaces
from keepstone.resident.files import SpaceFiles

__all__ = ["ResidentSpaces", "SpaceFiles", "View"]
