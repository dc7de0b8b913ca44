// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/journal.h"

#include "core/engine/stream/journal_line.h"

namespace shardscope {

namespace {

constexpr size_t kShaDigits = 64;

void parseLine(std::string_view line, Journal& journal)
{
    if (!takeGuard(line))
        return;
    const std::string_view kind = takeWord(line);
    if (kind == "sealed2" || kind == "sealed") {
        const auto inode = number(takeWord(line));
        const std::string_view sha = takeWord(line);
        const std::string_view verified = takeWord(line);
        if (inode && sha.size() == kShaDigits)
            journal.seal = JournalSeal{*inode, std::string(sha), verified == "1",
                kind == "sealed2" ? std::string(line) : std::string()};
    }
}

} // namespace

std::string journalLine(const JournalSeal& seal)
{
    return guarded("sealed2 " + std::to_string(seal.inode) + ' ' + seal.manifestSha256
        + (seal.verified ? " 1 " : " 0 ") + seal.fingerprint);
}

Journal parseJournal(std::string_view text)
{
    Journal journal;
    std::string_view line;
    while (takeLine(text, line))
        parseLine(line, journal);
    return journal;
}

} // namespace shardscope
