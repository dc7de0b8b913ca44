// SPDX-License-Identifier: Apache-2.0
#include "app/cli/run.h"

int main(int argc, char** argv)
{
    return shardscope::cli::run(argc, argv);
}
