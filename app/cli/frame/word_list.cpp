// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/word_list.h"

#include "core/base/nearest_word.h"
#include "core/doctor/diagnosis.h"

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

Result<std::vector<std::string>> findingsAsked(
    const Arguments& arguments, const char* option, std::string_view also)
{
    std::vector<std::string> words = wordsAsked(arguments, option);
    std::vector<std::string> known;
    if (!also.empty())
        known.emplace_back(also);
    for (const Diagnosis* diagnosis : diagnoses()) {
        known.emplace_back(diagnosis->code);
        if (!diagnosis->letter.empty())
            known.emplace_back(diagnosis->letter);
    }
    for (const std::string& word : words) {
        const auto all = diagnoses();
        const bool isFinding
            = std::any_of(all.begin(), all.end(), [&](const auto* each) { return isNamedBy(*each, word); });
        if (isFinding || (!also.empty() && word == also))
            continue;
        return fail(ErrorCode::Usage, std::string(option) + " `" + word + "`: there is no such finding", {},
            nearestHint(word, known, Hint::command("check --list") + " shows them"));
    }
    return words;
}

} // namespace shardscope::cli
