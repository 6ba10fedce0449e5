/* SQLite, loaded when a file is read: most commands read none. */
#include "import/nsys/sqlite.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#include "base/symbol.h"

struct db_functions db_sqlite;

static void load(void)
{
    const char *path    = getenv("LAYERMETER_SQLITE");
    void       *library = dlopen(path && *path ? path : LAYERMETER_SQLITE, RTLD_NOW | RTLD_LOCAL);

#define FIND(name) &&symbol_find(library, #name, &db_sqlite.name)
    if (!(library SQLITE_FUNCTIONS(FIND)))
        snprintf(db_sqlite.lacks, sizeof db_sqlite.lacks, "%s", dlerror());
}

static lm_status failed(const db *d, lm_error *err)
{
    return lm_error_set(err, LM_E_SYNTAX,
                        "%s: %.200s: no trace of Nsight Systems, or a damaged one", d->path,
                        db_sqlite.sqlite3_errmsg(d->of));
}

lm_status db_open(db *d, const char *path, lm_error *err)
{
    static once_flag once = ONCE_FLAG_INIT;

    *d = (db){ .path = path };
    call_once(&once, load);
    if (*db_sqlite.lacks)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%s: SQLite cannot be loaded (Debian: libsqlite3-0): %s", path,
                            db_sqlite.lacks);
    if (db_sqlite.sqlite3_open_v2(path, &d->of, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        db_sqlite.sqlite3_exec(d->of,
                               "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                               "PRAGMA temp_store = FILE; PRAGMA cache_size = -16384",
                               NULL, NULL, NULL) != SQLITE_OK)
        return failed(d, err);
    return LM_OK;
}

void db_close(db *d)
{
    if (d->of)
        db_sqlite.sqlite3_close(d->of);
}

lm_status db_ask(db *d, const char *sql, sqlite3_stmt **out, lm_error *err)
{
    return db_sqlite.sqlite3_prepare_v2(d->of, sql, -1, out, NULL) == SQLITE_OK ? LM_OK
                                                                                : failed(d, err);
}

lm_status db_next(db *d, sqlite3_stmt *s, bool *row, lm_error *err)
{
    const int code = db_sqlite.sqlite3_step(s);

    *row = code == SQLITE_ROW;
    return *row || code == SQLITE_DONE ? LM_OK : failed(d, err);
}

void db_end(sqlite3_stmt *s)
{
    if (s)
        db_sqlite.sqlite3_finalize(s);
}

lm_status db_column(db *d, const char *table, const char *column, bool *has, lm_error *err)
{
    char          sql[200];
    sqlite3_stmt *s = NULL;
    lm_status     status;

    snprintf(sql, sizeof sql, "SELECT 1 FROM pragma_table_info('%s') WHERE name = '%s'", table,
             column);
    if (!(status = db_ask(d, sql, &s, err)))
        status = db_next(d, s, has, err);
    db_end(s);
    return status;
}
