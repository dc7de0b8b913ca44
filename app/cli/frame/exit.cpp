// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/exit.h"

#include <array>

namespace shardscope::cli {

std::span<const std::pair<int, std::string_view>> exitMeanings()
{
    static constexpr std::array<std::pair<int, std::string_view>, 9> kMeanings{{
        {0, "done"},
        {1, "done, and the answer is no: it does not verify"},
        {2, "wrong usage, or DST lies inside, is or contains the source's run folder"},
        {3, "cannot be read, is not a checkpoint, or is malicious"},
        {4, "recognised, but not supported by this build"},
        {5, "cannot write: the target exists, no space, no permission, an I/O error"},
        {6, "refused: what is missing, damaged or changed would make the result wrong"},
        {70, "internal error"},
        {130, "interrupted; the message says how to go on"},
    }};
    return kMeanings;
}

} // namespace shardscope::cli
