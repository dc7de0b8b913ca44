// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/exit.h"

#include <array>

namespace shardscope::cli {

std::span<const std::pair<int, std::string_view>> exitMeanings()
{
    static constexpr std::array<std::pair<int, std::string_view>, 9> kMeanings{{
        {0, "done"},
        {1, "done, but the answer is negative: differences, findings or a failed verification"},
        {2, "wrong usage, or DST is, contains or is inside the source's run folder"},
        {3, "cannot be read, is not a checkpoint, or is malicious"},
        {4, "recognised, but not supported by this build"},
        {5, "cannot write: the target exists, no space, no permission, an I/O error"},
        {6, "refused: missing, damaged or changed data would make the result wrong"},
        {70, "internal error"},
        {130, "interrupted; the message says how to continue"},
    }};
    return kMeanings;
}

} // namespace shardscope::cli
