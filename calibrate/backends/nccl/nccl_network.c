/* What NCCL chose: its network and algorithms. */
#include "nccl_network.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* graph/init of NCCL 2.28 and before: INFO(NCCL_INIT|NCCL_NET, "Using network %s", ...) */
#define SAYS "Using network "
/* enqueue.cc since 2.24, on a communicator's rank 0: INFO(NCCL_TUNING, "%s: %ld Bytes -> Algo %s proto %s channel{Lo..Hi}=...");
 * before, with numbers instead of names */
#define CHOSE " Bytes -> Algo "

static char path[64];
static bool asked; /* NCCL reads its log settings only once */
static long done;  /* bytes of the log that were read */
static char network[32], chosen[32];

void nccl_network_listen(void)
{
    int file;

    if (asked || getenv("NCCL_DEBUG") || getenv("NCCL_DEBUG_FILE"))
        return; /* the user's own log settings stay */
    asked = true;
    snprintf(path, sizeof path, "/tmp/layermeter-nccl-XXXXXX");
    if ((file = mkstemp(path)) < 0) {
        path[0] = '\0';
        return;
    }
    close(file);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT,NET,TUNING", 1);
    setenv("NCCL_DEBUG_FILE", path, 1);
}

void nccl_network_hush(void)
{
    const char *to = getenv("NCCL_DEBUG_FILE");

    if (!path[0] || !to || strcmp(to, path) != 0)
        return;
    unsetenv("NCCL_DEBUG");
    unsetenv("NCCL_DEBUG_SUBSYS");
    unsetenv("NCCL_DEBUG_FILE");
}

/* As NCCL numbers them (nccl_tuner.h). */
static const char *const algorithms[] = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"
};
static const char *const protocols[] = { "ll", "ll128", "simple" };

static const char *name_of(const char *word, const char *const *names, size_t n, char *lower)
{
    size_t i = 0;

    if (isdigit((unsigned char)*word))
        return strtoul(word, NULL, 10) < n ? names[strtoul(word, NULL, 10)] : word;
    for (; word[i]; i++)
        lower[i] = (char)tolower((unsigned char)word[i]);
    lower[i] = '\0';
    return lower;
}

static void hear_choice(const char *at)
{
    char word[2][15], lower[2][15];

    if (sscanf(at, "%14s proto %14s", word[0], word[1]) == 2)
        snprintf(chosen, sizeof chosen, "%s/%s",
                 name_of(word[0], algorithms, sizeof algorithms / sizeof *algorithms, lower[0]),
                 name_of(word[1], protocols, sizeof protocols / sizeof *protocols, lower[1]));
}

/* Reads what NCCL has said since the last time. */
static void read_on(void)
{
    FILE *in = path[0] ? fopen(path, "r") : NULL;
    char  line[512];

    if (!in)
        return;
    if (fseek(in, done, SEEK_SET) == 0)
        while (fgets(line, sizeof line, in)) {
            const char *net = strstr(line, SAYS), *choice = strstr(line, CHOSE);

            if (net)
                snprintf(network, sizeof network, "%.*s", (int)strcspn(net + strlen(SAYS), " \r\n"),
                         net + strlen(SAYS));
            if (choice)
                hear_choice(choice + strlen(CHOSE));
        }
    done = ftell(in);
    fclose(in);
}

bool nccl_network_heard(char *name, size_t size)
{
    read_on();
    snprintf(name, size, "%s", network);
    return *name != '\0';
}

void nccl_network_begin(void)
{
    read_on();
    chosen[0] = '\0';
}

bool nccl_network_chose(char *out, size_t size)
{
    read_on();
    snprintf(out, size, "%s", chosen);
    return *out != '\0';
}

void nccl_network_forget(void)
{
    if (!path[0])
        return;
    unlink(path);
    path[0] = '\0';
}
