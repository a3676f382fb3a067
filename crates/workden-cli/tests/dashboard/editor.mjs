// Files: edited, in conflict, uploaded, shown; and the changes of a session, taken back as a whole and in part.

import { api, assert, enter, eventually, go, inBrowser, picture, read, run, session, write } from "./browser.mjs";

/** A picture of one red pixel. */
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC", "base64");

/** A page without content. */
const PAPER = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/MediaBox[0 0 300 200]/Parent 2 0 R>>endobj
trailer<</Root 1 0 R>>
%%EOF`;

const editor = (page) => page.locator(".cm-content").last();

async function edits(page, id) {
  await write(id, "notes.md", "one\r\ntwo\r\n");
  await enter(page, `#/sessions/${id}/files?path=${encodeURIComponent("/workspace/notes.md")}`);
  await editor(page).getByText("two").waitFor();
  await editor(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("three");
  await page.getByText("not saved").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("not saved").waitFor({ state: "detached" });
  assert.equal(await read(id, "notes.md"), "one\r\ntwo\r\nthree", "the ends of its lines are kept");

  // The agent writes: an editor without changes shows it.
  await write(id, "notes.md", "from the agent\n");
  await editor(page).getByText("from the agent").waitFor();

  // Both write: both texts are shown, and nothing is lost before the user has decided.
  await editor(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("mine\n");
  await write(id, "notes.md", "the agent again\n");
  await page.getByText("changed on the disk").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "The file has changed since you opened it" });
  await dialog.getByText("the agent again").first().waitFor();
  await dialog.getByText("mine").first().waitFor();
  await picture(page, "conflict-dark");
  assert.equal(await read(id, "notes.md"), "the agent again\n");
  await dialog.getByRole("button", { name: "Overwrite with mine" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(await read(id, "notes.md"), "from the agent\nmine\n");

  await write(id, "mixed.txt", "a\r\nb\nc");
  await go(page, `#/sessions/${id}/files?path=${encodeURIComponent("/workspace/mixed.txt")}`);
  await page.getByText("read-only: its lines end in different ways").waitFor();
}

async function uploads(page, id) {
  await go(page, `#/sessions/${id}/files`);
  await page.getByLabel("Files to upload").setInputFiles([
    { name: "dot.png", mimeType: "image/png", buffer: PIXEL },
    { name: "fake.png", mimeType: "image/png", buffer: Buffer.from("<svg onload=alert(1)>") },
  ]);
  await page.getByRole("list", { name: "Files" }).getByText("dot.png").click();
  await page.getByText("1 × 1").waitFor();
  await page.getByRole("list", { name: "Files" }).getByText("fake.png").click();
  await page.getByText("not an image that can be shown").waitFor();
  await write(id, "paper.pdf", PAPER);
  await page.getByRole("list", { name: "Files" }).getByText("paper.pdf").click();
  await page.locator('iframe[title="/workspace/paper.pdf"]').waitFor();
  await page.getByRole("list", { name: "Files" }).getByText("fake.png").click();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download", exact: true }).click()]);
  assert.equal(saved.suggestedFilename(), "fake.png");

  // A drop, as a browser makes it.
  const transfer = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["dropped"], "dropped.txt"));
    return transfer;
  });
  await page.getByRole("group", { name: "Files" }).dispatchEvent("drop", { dataTransfer: transfer });
  await eventually(async () => (await read(id, "dropped.txt")) === "dropped", "the upload");

  await page.getByRole("button", { name: "New file" }).click();
  await page.getByRole("textbox", { name: /^Name/ }).fill("new/made.py");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await eventually(async () => (await read(id, "new/made.py")) === "", "the new file");
}

async function takesBack(page) {
  const { id } = await session({ name: "changes" });
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
  await write(id, "a.txt", `${lines.join("\n")}\n`);
  await write(id, "b.txt", "stays\n");
  await run(id, "echo gone > c.txt");
  // What is there now is the start from which the next changes count.
  await api("POST", `/v1/sessions/${id}/changes/accept`);
  await write(id, "a.txt", `${lines.join("\n").replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")}\n`);
  await write(id, "new.txt", "new\n");
  await run(id, "rm c.txt");
  await go(page, `#/sessions/${id}/changes`);
  const list = page.getByRole("list", { name: "Changed files" });
  for (const name of ["a.txt", "c.txt", "new.txt"]) await list.getByText(`/workspace/${name}`).waitFor();
  assert.equal(await list.getByRole("listitem").count(), 3);
  await list.getByText("/workspace/a.txt").click();
  await page.getByText("line thirty").first().waitFor();
  await picture(page, "diff-dark");
  await page.getByRole("button", { name: "Take this change back" }).first().click();
  await eventually(async () => (await read(id, "a.txt")).includes("line 3\n"), "the first change taken back");
  assert.ok((await read(id, "a.txt")).includes("line thirty"), "the other change stays");
  await page.getByRole("button", { name: "Inline" }).click();
  await page.getByRole("button", { name: "Take this change back" }).first().click();
  await eventually(async () => !(await read(id, "a.txt")).includes("thirty"), "the second change taken back");
  await list.getByText("/workspace/new.txt").click();
  await page.getByRole("button", { name: "Revert the file" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revert" }).click();
  await list.getByText("/workspace/new.txt").waitFor({ state: "detached" });
  const [patch] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Patch" }).click()]);
  assert.equal(patch.suggestedFilename(), "changes.patch");
}

await inBrowser(async (page) => {
  const { id } = await session({ name: "writing" });
  await edits(page, id);
  await uploads(page, id);
  await takesBack(page);
});

console.log("conflicts, uploads, changes");
