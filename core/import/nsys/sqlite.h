/** SQLite files, read only. The library is loaded when one is read. */
#ifndef IMPORT_NSYS_SQLITE_H
#define IMPORT_NSYS_SQLITE_H

#include <stdbool.h>

#include <sqlite3.h>

#include <layermeter/error.h>

/* Functions that are called. */
#define SQLITE_FUNCTIONS(DO)                                                    \
    DO(sqlite3_open_v2)                                                         \
    DO(sqlite3_close)                                                           \
    DO(sqlite3_exec) DO(sqlite3_errmsg) DO(sqlite3_prepare_v2) DO(sqlite3_step) \
        DO(sqlite3_finalize) DO(sqlite3_column_int64) DO(sqlite3_column_text)   \
            DO(sqlite3_column_blob) DO(sqlite3_column_bytes) DO(sqlite3_column_type)

#define SQLITE_POINTER(name) __typeof__(&name) name;
/** Loaded by db_open(). */
extern struct db_functions {
    SQLITE_FUNCTIONS(SQLITE_POINTER)
    char lacks[200]; /**< why it could not be loaded; "": it was */
} db_sqlite;
#undef SQLITE_POINTER

typedef struct db {
    const char *path;
    sqlite3    *of;
} db;

/** What does not fit into little memory goes to temporary files. LM_E_UNSUPPORTED without the
 * library, LM_E_SYNTAX for a damaged file; db_close() in either case. */
lm_status db_open(db *d, const char *path, lm_error *err);
void      db_close(db *d);

/** Its columns are there from 1 on: db_next(). Freed by db_end(). */
lm_status db_ask(db *d, const char *sql, sqlite3_stmt **out, lm_error *err);
/** *row: is there one more? LM_E_SYNTAX for a damaged file. */
lm_status db_next(db *d, sqlite3_stmt *s, bool *row, lm_error *err);
void      db_end(sqlite3_stmt *s);

/** Has a table this column? */
lm_status db_column(db *d, const char *table, const char *column, bool *has, lm_error *err);

#endif
