/* One process for each GPU of this host. The claim is a name in Linux's abstract socket namespace:
 * it leaves no file and ends with the process. */
#include "cuda_claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int cuda_claim(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const int          claim   = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int          n =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "layermeter-%.80s", name);
    int cause;

    if (claim < 0)
        return -1;
    if (!bind(claim, (const struct sockaddr *)&address,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
        return claim;
    cause = errno;
    close(claim);
    errno = cause;
    return -1;
}

void cuda_claim_drop(int claim)
{
    if (claim >= 0)
        close(claim);
}
