/*
 * Writes the names that a server has for the operations of its resource managers: id, code and name, as in
 * tests/wal/operations.tsv. The server's own functions are asked, before it begins to run:
 *
 *   cc -shared -fPIC -o rmgr_names.so rmgr_names.c -ldl
 *   LD_PRELOAD=./rmgr_names.so .../bin/postgres --version
 *
 * The list of 10 to 18 is from the servers that servers.py pins, and for 11 to 13 from 11.22.1-beta.11, 12.22.0-beta.15 and
 * 13.23.0-beta.16 of the same package.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* By id. */
static const char *const managers[] = {
    "xlog", "xact", "smgr", "clog", "dbase", "tblspc", "multixact", "relmap", "standby", "heap2", "heap", "btree",
    "hash", "gin", "gist", "seq", "spg", "brin", "commit_ts", "replorigin", "generic", "logicalmsg",
};

__attribute__((constructor)) static void
write_names(void)
{
    for (unsigned id = 0; id < sizeof managers / sizeof managers[0]; id++) {
        char function[64];
        snprintf(function, sizeof function, "%s_identify", managers[id]);
        const char *(*identify)(unsigned char) = (const char *(*)(unsigned char))dlsym(RTLD_DEFAULT, function);
        if (identify == NULL) {
            fprintf(stderr, "no %s()\n", function);
            exit(1);
        }
        for (unsigned code = 0; code < 256; code += 16) {
            const char *name = identify((unsigned char)code);
            if (name != NULL)
                printf("%u\t%02X\t%s\n", id, code, name);
        }
    }
    fflush(stdout);
    _exit(0);
}
