// The JavaScript SDK of E2B's code interpreter, unchanged, against `workden serve`. It is found from the directory in
// which this starts.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const { NotFoundError, Sandbox, SandboxError, TimeoutError } = createRequire(`${process.cwd()}/`)('@e2b/code-interpreter')

async function code(sandbox) {
  const seen = { stdout: [], stderr: [], results: [], errors: [] }
  const ran = await sandbox.runCode("x = 20\nimport sys\nprint('one')\nprint('twö', file=sys.stderr)\nx + 1", {
    onStdout: (message) => seen.stdout.push(message.line),
    onStderr: (message) => seen.stderr.push(message.line),
    onResult: (result) => seen.results.push(result.text),
    onError: (error) => seen.errors.push(error.name),
  })
  assert.deepEqual([ran.text, ran.executionCount, ran.error], ['21', 1, undefined])
  assert.deepEqual(seen, { stdout: ['one\n'], stderr: ['twö\n'], results: ['21'], errors: [] })
  assert.deepEqual(ran.logs, { stdout: ['one\n'], stderr: ['twö\n'] })
  const again = await sandbox.runCode('x += 1\nx')
  assert.deepEqual([again.text, again.results[0].isMainResult], ['21', true])
  // Characters of several bytes, however the answer is cut.
  const wide = await sandbox.runCode("print('é😀\\u2028' * 100_000)")
  assert.equal(wide.logs.stdout.join(''), 'é😀\u2028'.repeat(100_000) + '\n')
}

async function results(sandbox) {
  const source = [
    'class Rich:',
    '    def _repr_html_(self): return "<b>"',
    '    def _repr_png_(self): return b"png"',
    '    def _repr_json_(self): return {"a": 1}',
    'display("shown")',
    'Rich()',
  ]
  const { results } = await sandbox.runCode(source.join('\n'))
  assert.deepEqual(results.map((result) => result.isMainResult), [false, true])
  assert.equal(results[0].text, 'shown')
  assert.deepEqual([results[1].html, results[1].png, results[1].json], ['<b>', 'cG5n', { a: 1 }])
  assert.deepEqual(results[1].formats(), ['html', 'png', 'json'])
}

async function errors(sandbox) {
  const { error } = await sandbox.runCode('1 / 0')
  assert.deepEqual([error.name, error.value], ['ZeroDivisionError', 'division by zero'])
  assert(error.traceback.includes('1 / 0'))
  assert.equal((await sandbox.runCode('x')).text, '21')
}

async function contexts(sandbox) {
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.deepEqual([context.language, context.cwd], ['python', '/tmp'])
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
  assert.equal((await sandbox.runCode("import os; os.environ['OF_CALL']", { context, envs: { OF_CALL: 'a' } })).text, 'a')
  assert.equal((await sandbox.listCodeContexts()).length, 2)
  await sandbox.restartCodeContext(context)
  assert.equal((await sandbox.runCode('os', { context })).error.name, 'NameError')
  await sandbox.removeCodeContext(context.id)
  await assert.rejects(sandbox.runCode('1', { context }), NotFoundError)
  await assert.rejects(sandbox.createCodeContext({ language: 'r' }), (error) => error instanceof SandboxError && /501/.test(error.message))
}

async function timeouts(sandbox) {
  await assert.rejects(sandbox.runCode('while True: pass', { timeoutMs: 2000 }), TimeoutError)
  assert.equal((await sandbox.runCode('x')).text, '21')
}

const done = []
const sandbox = await Sandbox.create({ timeoutMs: 600_000 })
try {
  for (const part of [code, results, errors, contexts, timeouts]) {
    await part(sandbox)
    done.push(part.name)
  }
} finally {
  // A service leaves its sandboxes running when it ends.
  await sandbox.kill()
  console.log(done.join(' '))
}
