"""What is remembered on the page of rooms: corrected where it stands, and shown at the message it was taken from."""

import pytest
from playwright.async_api import Browser, expect

from browser import visiting
from live import Live
from test_page_rooms import make


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


async def test_a_landmark_is_corrected_deleted_and_restored_in_place_with_its_history(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        room = make(visitor, "Mill", "miller")
        api.post(f"/v1/rooms/{room}/landmarks", json={"text": "We grind on Mondays."})
        await visitor.go(f"/dashboard/rooms?room={room}&panel=landmarks")
        landmarks = page.get_by_role("list", name="Landmarks")
        await landmarks.get_by_role("button", name="Correct").click()
        await page.get_by_role("menuitem", name="Edit").click()
        await landmarks.get_by_label("New wording").fill("We grind on Fridays.")
        await landmarks.get_by_role("button", name="Save").click()
        await expect(landmarks).to_contain_text("We grind on Fridays.")
        await landmarks.get_by_role("button", name="Correct").click()
        await page.get_by_role("menuitem", name="History").click()
        history = page.get_by_role("dialog", name="History")
        await expect(history.get_by_role("listitem")).to_have_count(2)
        await expect(history).to_contain_text("We grind on Mondays.")
        await visitor.accessible()
        await history.get_by_role("button", name="Close").click()
        await landmarks.get_by_role("button", name="Correct").click()
        await page.get_by_role("menuitem", name="Delete").click()
        await expect(landmarks).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(landmarks).to_contain_text("We grind on Fridays.")


async def test_what_was_taken_from_a_message_stands_at_it_and_leads_there_and_back(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        room = make(visitor, "Bakery", "baker")
        api.post(f"/v1/rooms/{room}/messages", json={"text": "We decided to close on Sundays."})
        await visitor.go(f"/dashboard/rooms?room={room}")
        remembered = page.get_by_role("log").get_by_role("button", name="Remembered: We decided to close on Sundays.")
        await expect(remembered.first).to_be_visible()
        await remembered.first.click()
        panel = page.get_by_role("tabpanel")
        await expect(panel).to_contain_text("We decided to close on Sundays.")
        await visitor.accessible()
        await panel.get_by_role("button", name="Where it was said").first.click()
        message = api.get(f"/v1/rooms/{room}/messages").json()["items"][0]["id"]
        assert f"show={message}" in page.url
