-- What `nsys export --type sqlite` makes of a report, as far as it is read: tables and columns by the documentation of
-- Nsight Systems (SQLite Export Schema Reference), no report of a real run. nsys.sqlite is made of it:
--   sqlite3 -cmd 'PRAGMA page_size = 512' nsys.sqlite <nsys.sql
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
    color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonTextId INTEGER,
    jsonText TEXT, binaryData BLOB);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,
    gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL);
CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags INTEGER,
    numEntries INTEGER, payloadSize INTEGER, alignTo INTEGER);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER NOT NULL,
    flags INTEGER, type INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
INSERT INTO StringIds VALUES (1, 'conv1'), (2, 'relu'), (3, 'sm80_xmma_fprop'), (4, 'elementwise_kernel'), (5, 'ncclAllReduce'),
    (6, 'ncclCommInitRank'), (7, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (8, 'ncclDevKernel_AllGather_RING_LL'),
    (9, 'cudaLaunchKernel'), (10, 'ncclDevKernel_AllReduce_Sum_f32_TREE_LL');
INSERT INTO NVTX_PAYLOAD_SCHEMAS VALUES (1, 100, NULL, 1, NULL, 4, 24, NULL), (1, 101, NULL, 1, NULL, 3, 24, NULL);
-- types: 5 int, 14 of NCCL's own (an operation), 18 uint64, 22 size_t
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 100, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
    (1, 100, 1, NULL, 5, 'No. of ranks', NULL, NULL, 8), (1, 100, 2, NULL, 5, 'Rank', NULL, NULL, 12),
    (1, 100, 3, NULL, 5, 'CUDA device', NULL, NULL, 16), (1, 101, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
    (1, 101, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8), (1, 101, 2, NULL, 14, 'Reduction operation', NULL, NULL, 16);
-- Process 1, threads 16777217 (forward) and 16777218 (backward, and NCCL). Communicator 0x2a has 4 ranks.
-- Head of a payload: domain, 0, schema, 0, size of the payload, size of all.
INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId, binaryData) VALUES
    (100, 900, 59, 16777217, 6, 1, x'01000000000000006400000000000000' || x'18000000000000003800000000000000' ||
        x'2a0000000000000004000000000000000000000000000000');
-- Steps begin at 1, 6, 11.2 and 20 ms.
INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId) VALUES
    (1000000, 5900000, 59, 16777217, 'step 7', 0), (6000000, 11100000, 59, 16777217, 'step 8', 0),
    (11200000, 19900000, 59, 16777217, 'step 9', 0), (20000000, 25000000, 59, 16777217, 'step 10', 0),
    (500, 600, 59, 16777217, 'warm-up', 0), (700, NULL, 34, 16777217, 'a mark', 0);
-- conv1 launches two kernels, relu within it is a layer of its own.
INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId) VALUES
    (1100000, 1200000, 59, 16777217, 1, 0), (1150000, 1160000, 59, 16777217, 2, 0),
    (6100000, 6200000, 59, 16777217, 1, 0), (11300000, 11400000, 59, 16777217, 1, 0);
-- All-reduces: 4 MiB in each of two steps, 16 KiB; two calls whose kernel is one, so that none of them has a time.
INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId, binaryData) VALUES
    (2000000, 2000900, 59, 16777218, 5, 1, x'01000000000000006500000000000000' || x'18000000000000003800000000000000' ||
        x'2a0000000000000000004000000000000000000000000000'),
    (7000000, 7000900, 59, 16777218, 5, 1, x'01000000000000006500000000000000' || x'18000000000000003800000000000000' ||
        x'2a0000000000000000004000000000000000000000000000'),
    (8000000, 8000900, 59, 16777218, 5, 1, x'01000000000000006500000000000000' || x'18000000000000003800000000000000' ||
        x'2a0000000000000000400000000000000000000000000000'),
    (9000000, 9000100, 59, 16777218, 5, 1, x'01000000000000006500000000000000' || x'18000000000000003800000000000000' ||
        x'2a0000000000000000400000000000000000000000000000'),
    (9000200, 9000300, 59, 16777218, 5, 1, x'01000000000000006500000000000000' || x'18000000000000003800000000000000' ||
        x'2a0000000000000000400000000000000000000000000000');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1110000, 1111000, 0, 16777217, 1, 9, 0, NULL), (1120000, 1121000, 0, 16777217, 2, 9, 0, NULL),
    (1155000, 1156000, 0, 16777217, 3, 9, 0, NULL), (6110000, 6111000, 0, 16777217, 4, 9, 0, NULL),
    (11310000, 11311000, 0, 16777217, 5, 9, 0, NULL), (11500000, 11501000, 0, 16777217, 6, 9, 0, NULL),
    (2000950, 2000990, 0, 16777218, 7, 9, 0, NULL), (7000950, 7000990, 0, 16777218, 8, 9, 0, NULL),
    (8000950, 8000990, 0, 16777218, 9, 9, 0, NULL), (9000400, 9000450, 0, 16777218, 10, 9, 0, NULL),
    (9100000, 9100050, 0, 16777218, 11, 9, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName,
    registersPerThread, gridX, gridY, gridZ) VALUES
    (1200000, 1230000, 0, 1, 7, 1, 16777216, 3, 3, 64, 1, 1, 1), (1230000, 1240000, 0, 1, 7, 2, 16777216, 4, 4, 64, 1, 1, 1),
    (1240000, 1245000, 0, 1, 7, 3, 16777216, 4, 4, 64, 1, 1, 1), (6200000, 6250000, 0, 1, 7, 4, 16777216, 3, 3, 64, 1, 1, 1),
    (11400000, 11444000, 0, 1, 7, 5, 16777216, 3, 3, 64, 1, 1, 1), (11600000, 11700000, 0, 1, 7, 6, 16777216, 4, 4, 64, 1, 1, 1),
    (2100000, 2400000, 0, 1, 9, 7, 16777216, 7, 7, 64, 1, 1, 1), (7100000, 7410000, 0, 1, 9, 8, 16777216, 7, 7, 64, 1, 1, 1),
    (8100000, 8145000, 0, 1, 9, 9, 16777216, 10, 10, 64, 1, 1, 1), (9100000, 9150000, 0, 1, 9, 10, 16777216, 10, 10, 64, 1, 1, 1),
    (9200000, 9300000, 0, 1, 9, 11, 16777216, 8, 8, 64, 1, 1, 1);
