// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/journal.h"

#include "core/base/text.h"
#include "core/io/content_digest.h"
#include "core/io/crc32.h"

#include <charconv>

namespace shardscope {

namespace {

constexpr size_t kCrcDigits = 8;
constexpr size_t kShaDigits = 64;

std::string hexCrc(std::string_view text)
{
    const uint32_t crc = io::crc32(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    std::string out;
    for (int shift = 28; shift >= 0; shift -= 4)
        out += "0123456789abcdef"[(crc >> shift) & 15];
    return out;
}

std::string guarded(const std::string& text)
{
    return hexCrc(text) + ' ' + text + '\n';
}

/// Takes the text up to the next space.
std::string_view takeWord(std::string_view& rest)
{
    const size_t end = rest.find(' ');
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return word;
}

std::optional<uint64_t> number(std::string_view text)
{
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

void parseLine(std::string_view line, Journal& journal)
{
    const std::string_view crc = takeWord(line);
    if (crc.size() != kCrcDigits || crc != hexCrc(line))
        return;
    const std::string_view kind = takeWord(line);
    if (kind == "file") {
        const std::string_view digest = takeWord(line);
        const auto bytes = number(takeWord(line));
        const auto path = percentDecode(line);
        if (io::digestKindOf(digest) != io::DigestKind::None && bytes && path)
            journal.files.push_back({*path, *bytes, std::string(digest)});
    } else if (kind == "sealed2" || kind == "sealed") {
        const auto inode = number(takeWord(line));
        const std::string_view sha = takeWord(line);
        const std::string_view verified = takeWord(line);
        if (inode && sha.size() == kShaDigits)
            journal.seal = JournalSeal{*inode, std::string(sha), verified == "1",
                kind == "sealed2" ? std::string(line) : std::string()};
    }
}

} // namespace

std::string journalLine(const JournalFile& file)
{
    return guarded("file " + file.digest + ' ' + std::to_string(file.bytes) + ' ' + percentEncode(file.path));
}

std::string journalLine(const JournalSeal& seal)
{
    return guarded("sealed2 " + std::to_string(seal.inode) + ' ' + seal.manifestSha256
        + (seal.verified ? " 1 " : " 0 ") + seal.fingerprint);
}

Journal parseJournal(std::string_view text)
{
    Journal journal;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        if (end == std::string_view::npos)
            break; // incomplete line
        parseLine(text.substr(0, end), journal);
        text.remove_prefix(end + 1);
    }
    return journal;
}

} // namespace shardscope
