// SPDX-License-Identifier: Apache-2.0
#include "core/base/glob.h"

namespace shardscope {

namespace {

/// The position after the character that begins at `at`.
size_t nextCharacter(std::string_view text, size_t at)
{
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u)
        ++at;
    return at;
}

} // namespace

bool fitsGlob(std::string_view pattern, std::string_view text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = std::string_view::npos;
    size_t starText = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            starText = t;
        } else if (p < pattern.size() && pattern[p] == '?') {
            ++p;
            t = nextCharacter(text, t);
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) { // the last star matches one more byte
            p = star + 1;
            t = ++starText;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

} // namespace shardscope
