// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/fuzzy.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

constexpr int kAsPart = 2000;
constexpr int kAtWordStart = 300;
constexpr int kLettersInOrder = 500;
constexpr size_t kLongestCounted = 250;

bool isWordByte(char byte)
{
    const auto value = static_cast<unsigned char>(byte);
    return (value >= '0' && value <= '9') || (value >= 'a' && value <= 'z') || value >= 0x80;
}

bool startsWord(std::string_view text, size_t at)
{
    return at == 0 || !isWordByte(text[at - 1]);
}

int partScore(std::string_view word, std::string_view text)
{
    int best = -1;
    for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        if (startsWord(text, at))
            return kAsPart + kAtWordStart;
        best = kAsPart;
    }
    return best;
}

/// Letters in order: those next to each other and those that begin words count more.
int lettersScore(std::string_view word, std::string_view text)
{
    int score = 0;
    size_t from = 0;
    for (size_t i = 0; i < word.size(); ++i) {
        const size_t at = text.find(word[i], from);
        if (at == std::string_view::npos)
            return -1;
        if (i > 0 && at == from)
            score += 12;
        else if (startsWord(text, at))
            score += 9;
        else
            score -= static_cast<int>(std::min<size_t>(at - from, 8));
        from = at + 1;
    }
    return std::clamp(kLettersInOrder + score, 0, kAsPart - 1);
}

/// Where partScore() finds the word; npos if it is no part.
size_t bestPart(std::string_view word, std::string_view text)
{
    size_t best = std::string_view::npos;
    for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        if (startsWord(text, at))
            return at;
        best = std::min(best, at);
    }
    return best;
}

} // namespace

std::vector<size_t> fuzzyLetters(std::string_view pattern, std::string_view text)
{
    std::vector<size_t> out;
    for (size_t begin = 0; begin < pattern.size();) {
        const size_t end = std::min(pattern.find(' ', begin), pattern.size());
        const std::string_view word = pattern.substr(begin, end - begin);
        begin = end + 1;
        const size_t part = bestPart(word, text);
        size_t from = part == std::string_view::npos ? 0 : part;
        for (const char letter : word) {
            const size_t at = text.find(letter, from);
            if (at == std::string_view::npos)
                break;
            out.push_back(at);
            from = at + 1;
        }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

int fuzzyPartScore(size_t words)
{
    return static_cast<int>(words) * kAsPart;
}

int fuzzyScore(std::string_view pattern, std::string_view text)
{
    int score = 0;
    for (size_t begin = 0; begin < pattern.size();) {
        const size_t end = std::min(pattern.find(' ', begin), pattern.size());
        const std::string_view word = pattern.substr(begin, end - begin);
        begin = end + 1;
        if (word.empty())
            continue;
        int own = partScore(word, text);
        if (own < 0)
            own = lettersScore(word, text);
        if (own < 0)
            return -1;
        score += own;
    }
    return score + static_cast<int>(kLongestCounted - std::min(text.size(), kLongestCounted));
}

} // namespace shardscope::ui
