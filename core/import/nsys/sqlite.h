/** SQLite files, read only. The library is loaded with the first file. */
#ifndef IMPORT_NSYS_SQLITE_H
#define IMPORT_NSYS_SQLITE_H

#include <stdbool.h>

#include <sqlite3.h>

#include <layermeter/error.h>

/* Used functions. */
#define SQLITE_FUNCTIONS(DO)                                                        \
    DO(sqlite3_open_v2)                                                             \
    DO(sqlite3_close)                                                               \
    DO(sqlite3_exec)                                                                \
    DO(sqlite3_errmsg) DO(sqlite3_prepare_v2) DO(sqlite3_step) DO(sqlite3_finalize) \
        DO(sqlite3_column_int64) DO(sqlite3_column_text) DO(sqlite3_column_blob)    \
            DO(sqlite3_column_bytes) DO(sqlite3_column_type)

#define SQLITE_POINTER(name) __typeof__(&name) name;
/** Loaded by db_open(). */
extern struct db_functions {
    SQLITE_FUNCTIONS(SQLITE_POINTER)
    char lacks[200]; /**< reason for a failure to load; "": loaded */
} db_sqlite;
#undef SQLITE_POINTER

typedef struct db {
    const char *path;
    sqlite3    *of;
} db;

/** Opens a file. Large intermediate results go to temporary files. LM_E_UNSUPPORTED without the
 * library, LM_E_SYNTAX for a damaged file; db_close() in either case. */
lm_status db_open(db *d, const char *path, lm_error *err);
void      db_close(db *d);

/** Starts a query; db_next() gives its rows. Free it with db_end(). */
lm_status db_ask(db *d, const char *sql, sqlite3_stmt **out, lm_error *err);
/** Advances to the next row; *row false: there is none. LM_E_SYNTAX for a damaged file. */
lm_status db_next(db *d, sqlite3_stmt *s, bool *row, lm_error *err);
void      db_end(sqlite3_stmt *s);

/** Has a table this column? */
lm_status db_column(db *d, const char *table, const char *column, bool *has, lm_error *err);

#endif
