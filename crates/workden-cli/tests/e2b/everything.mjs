// The JavaScript SDK of E2B, unchanged, against `workden serve`. It is configured by the variables that the SDK
// documents. It is found from the directory in which this starts.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const { CommandExitError, InvalidArgumentError, NotFoundError, Sandbox, TimeoutError } = createRequire(`${process.cwd()}/`)('e2b')

async function sandboxes() {
  const sandbox = await Sandbox.create({ timeoutMs: 600_000, metadata: { of: 'test' }, envs: { GREETING: 'hello' } })
  assert(await sandbox.isRunning())
  const info = await sandbox.getInfo()
  assert.deepEqual([info.sandboxId, info.templateId, info.state], [sandbox.sandboxId, 'base', 'running'])
  const found = await Sandbox.list({ query: { metadata: { of: 'test' } } }).nextItems()
  assert.deepEqual(found.map((item) => item.sandboxId), [sandbox.sandboxId])
  await sandbox.setTimeout(1_200_000)
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal((await again.commands.run('echo $GREETING')).stdout, 'hello\n')
  assert(sandbox.getHost(3000).startsWith(`3000-${sandbox.sandboxId}.`))
  assert.equal((await sandbox.getMetrics()).length, 1)
  await assert.rejects(Sandbox.connect('a'.repeat(20)), NotFoundError)
  return sandbox
}

async function files(sandbox) {
  const { files } = sandbox
  assert.equal((await files.write('notes/a.txt', 'one\n')).path, '/home/user/notes/a.txt')
  assert.equal(await files.read('notes/a.txt'), 'one\n')
  const blob = new Uint8Array(3_000_000).map((_, index) => index % 251)
  await files.write('blob', new Blob([blob]))
  assert.deepEqual(await files.read('blob', { format: 'bytes' }), blob)
  const written = await files.write([{ path: 'd/1', data: '1' }, { path: 'd/e/2', data: '2' }])
  assert.deepEqual(written.map((item) => item.path), ['/home/user/d/1', '/home/user/d/e/2'])
  assert.deepEqual((await files.list('d', { depth: 2 })).map((item) => item.name).sort(), ['1', '2', 'e'])
  assert(await files.makeDir('made'))
  assert(!(await files.makeDir('made')))
  assert.equal((await files.getInfo('d/1')).size, 1)
  assert.equal((await files.rename('d/1', 'd/moved')).path, '/home/user/d/moved')
  assert(!(await files.exists('d/1')))
  await files.remove('d')
  await assert.rejects(files.read('d/moved'), NotFoundError)
  const url = await sandbox.downloadUrl('notes/a.txt', { useSignatureExpiration: 600 })
  assert.equal(await (await fetch(url)).text(), 'one\n')
  assert.equal((await fetch(url.replace('a.txt', 'b.txt'))).status, 401)
}

async function metadata(sandbox) {
  const { files } = sandbox
  const kept = { author: 'Ada L.', empty: '' }
  assert.deepEqual((await files.write('noted/a', 'a', { metadata: { Author: 'Ada L.', empty: '' } })).metadata, kept)
  assert.deepEqual((await files.getInfo('noted/a')).metadata, kept)
  const several = [{ path: 'noted/b', data: 'b' }, { path: 'noted/c', data: 'c' }]
  await files.write(several, { metadata: { of: 'both' }, useOctetStream: true })
  await files.write('noted/plain', 'p')
  const found = Object.fromEntries((await files.list('noted')).map((item) => [item.name, item.metadata]))
  assert.deepEqual(found, { a: kept, b: { of: 'both' }, c: { of: 'both' }, plain: undefined })
  assert.deepEqual((await files.rename('noted/a', 'noted/d')).metadata, kept)
  assert.equal((await files.write('noted/d', 'd')).metadata, undefined)
  assert.equal((await files.getInfo('noted/d')).metadata, undefined)
  for (const wrong of [{ 'a b': 'x' }, { a: 'ä' }, { a: 'x'.repeat(5000) }]) {
    await assert.rejects(files.write('noted/wrong', 'x', { metadata: wrong }), InvalidArgumentError)
  }
  assert(!(await files.exists('noted/wrong')))
}

async function commands(sandbox) {
  const { commands } = sandbox
  const seen = []
  const result = await commands.run('echo out; echo err >&2; pwd', { onStdout: (text) => seen.push(text) })
  assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, 'out\n/home/user\n', 'err\n'])
  assert.equal(seen.join(''), 'out\n/home/user\n')
  await assert.rejects(commands.run('exit 3'), (error) => error instanceof CommandExitError && error.exitCode === 3)
  await assert.rejects(commands.run('sleep 4321', { timeoutMs: 1000 }), TimeoutError)
  const handle = await commands.run('while read line; do echo got $line; done', { background: true, stdin: true, timeoutMs: 0 })
  await commands.sendStdin(handle.pid, 'a\n')
  await commands.closeStdin(handle.pid)
  assert.equal((await handle.wait()).stdout, 'got a\n')
  const quiet = await commands.run('sleep 9876', { background: true, timeoutMs: 0 })
  await quiet.disconnect()
  const again = await commands.connect(quiet.pid)
  assert((await commands.list()).some((item) => item.pid === quiet.pid))
  assert(await commands.kill(quiet.pid))
  await assert.rejects(again.wait(), CommandExitError)
}

async function terminals(sandbox) {
  const seen = []
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: (data) => seen.push(Buffer.from(data)) })
  await sandbox.pty.resize(terminal.pid, { cols: 132, rows: 50 })
  await sandbox.pty.sendInput(terminal.pid, Buffer.from('stty size; exit 4\n'))
  await assert.rejects(terminal.wait(), CommandExitError)
  assert(Buffer.concat(seen).toString().includes('50 132'), Buffer.concat(seen).toString())
}

async function repositories(sandbox) {
  await sandbox.git.init('repo', { initialBranch: 'main' })
  await sandbox.files.write('repo/a', 'a')
  await sandbox.git.add('repo')
  await sandbox.git.commit('repo', 'First', { authorName: 'Ada', authorEmail: 'ada@example.com' })
  assert((await sandbox.git.status('repo')).isClean)
}

async function copies(sandbox) {
  await sandbox.files.write('copied', 'one')
  const { snapshotId } = await sandbox.createSnapshot()
  const forks = await sandbox.fork({ count: 2, timeoutMs: 300_000 })
  assert(forks.every((fork) => fork instanceof Sandbox), String(forks))
  await forks[0].files.write('copied', 'two')
  assert.equal(await forks[1].files.read('copied'), 'one')
  const again = await Sandbox.create(snapshotId, { timeoutMs: 300_000 })
  assert.equal(await again.files.read('copied'), 'one')
  for (const one of [...forks, again]) {
    assert(await one.kill())
  }
  const listed = await Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId }).nextItems()
  assert.deepEqual(listed.map((item) => item.snapshotId), [snapshotId])
  assert(await Sandbox.deleteSnapshot(snapshotId))
}

async function pauses(sandbox) {
  await sandbox.files.write('kept', 'kept')
  await sandbox.pause()
  assert.equal((await sandbox.getInfo()).state, 'paused')
  const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 300_000 })
  assert.equal(await again.files.read('kept'), 'kept')
  assert(await again.kill())
  assert(!(await again.isRunning()))
}

const done = []
try {
  const sandbox = await sandboxes()
  done.push('sandboxes')
  for (const part of [files, metadata, commands, terminals, repositories, copies, pauses]) {
    await part(sandbox)
    done.push(part.name)
  }
} finally {
  // A service leaves its sandboxes running when it ends.
  for (const item of await Sandbox.list().nextItems()) {
    await Sandbox.kill(item.sandboxId)
  }
  console.log(done.join(' '))
}
