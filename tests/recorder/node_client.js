// Streams one slot with the npm package pg-logical-replication until SIGTERM.
// usage: node node_client.js PORT SLOT PUBLICATION   (NODE_PATH must lead to the package)
const { LogicalReplicationService, PgoutputPlugin } = require('pg-logical-replication');

const [port, slot, publication] = process.argv.slice(2);
const service = new LogicalReplicationService(
  { host: '127.0.0.1', port: Number(port), user: 'postgres', database: 'postgres',
    application_name: 'node_client' },
  { acknowledge: { auto: true, timeoutSeconds: 1 } });
service.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
process.on('SIGTERM', () => service.stop().then(() => process.exit(0)));
service.subscribe(new PgoutputPlugin({ protoVersion: 1, publicationNames: [publication] }), slot)
  .catch((error) => {
    console.error(error);
    process.exit(1);
  });
