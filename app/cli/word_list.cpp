// SPDX-License-Identifier: Apache-2.0
#include "app/cli/word_list.h"

#include <algorithm>

namespace shardscope::cli {

std::vector<std::string> wordsAsked(const Arguments& arguments, const char* option)
{
    std::vector<std::string> out;
    for (const std::string& text : arguments.all(option)) {
        for (size_t begin = 0; begin <= text.size();) {
            const size_t comma = std::min(text.find(',', begin), text.size());
            if (comma > begin)
                out.push_back(text.substr(begin, comma - begin));
            begin = comma + 1;
        }
    }
    return out;
}

} // namespace shardscope::cli
