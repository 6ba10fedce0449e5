/* layermeter-calibrate. */
#include "run/program.h"

int main(int argc, char **argv)
{
    return calibrate_main(argc, argv);
}
