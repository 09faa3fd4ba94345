// Drives the published package pzp-db for tests: node pzp_db.cjs FOLDER KEY COMMANDS. COMMANDS is a JSON list of
// [name, options]; one JSON list of their results is printed. Keys are made from names, as in the tests.
'use strict'
const { promisify } = require('node:util')
const Keypair = require('pzp-keypair')
const database = require('pzp-db')
const MsgV4 = require('pzp-db/msg-v4')

const [folder, name, commands] = process.argv.slice(2)
const keyOf = (who) => Keypair.generate('ed25519', who)
const opened = (path, keypair) => {
  const hooks = []
  const run = (number, args) =>
    number < 0 ? args[0]() : hooks[number].call(peer, (...more) => run(number - 1, more), args)
  const peer = { close: (done) => run(hooks.length - 1, [done]) }
  peer.close.hook = (hook) => hooks.push(hook)
  peer.db = database.init(peer, { global: { keypair, path } })
  return peer
}
const why = (error) => (error?.cause ? `${error.message}: ${why(error.cause)}` : String(error?.message ?? error))

async function records(db) {
  const found = []
  for await (const record of db.records()) if (record?.msg) found.push({ id: record.id, msg: record.msg })
  return found
}

const actions = {
  create: (db, options) => promisify(db.account.create)(options),
  add: (db, { who, ...options }) => promisify(db.account.add)({ ...options, keypair: keyOf(who) }).then((one) => one.id),
  del: (db, { who, ...options }) => promisify(db.account.del)({ ...options, keypair: keyOf(who) }).then((one) => one.id),
  consent: (db, { who, account }) => db.account.consent({ keypair: keyOf(who), account }),
  publish: (db, options) => promisify(db.feed.publish)(options).then((one) => one.id),
  erase: (db, id) => promisify(db.erase)(id).then(() => id),
  records,
  order: (db, id) => promisify(db.getTangle)(id).then((tangle) => tangle.topoSort()),
  // Gives the messages of FOLDER to another database, which checks them.
  async checked(db, { path, roots }) {
    const other = opened(path, keyOf('dave'))
    await other.db.loaded()
    const results = []
    for (const { id, msg } of await records(db)) {
      const root = Object.keys(msg.metadata.tangles).find((one) => roots.includes(one)) ?? id
      results.push(await promisify(other.db.add)(msg, root).then(() => [id, null], (error) => [id, why(error)]))
    }
    await promisify(other.close)()
    return results
  },
  moot: (db, { account, domain }) => MsgV4.getMootID(account, domain),
}

async function main() {
  const peer = opened(folder, keyOf(name))
  await peer.db.loaded()
  const results = []
  for (const [action, options] of JSON.parse(commands)) results.push(await actions[action](peer.db, options))
  await promisify(peer.close)()
  console.log(JSON.stringify(results))
}
main().then(() => process.exit(0), (error) => { console.error(why(error)); process.exit(1) })
