// SPDX-License-Identifier: Apache-2.0
#include "app/cli/run.h"
#include "core/io/open_files.h"

int main(int argc, char** argv)
{
    shardscope::io::allowManyOpenFiles();
    return shardscope::cli::run(argc, argv);
}
