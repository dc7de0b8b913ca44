// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_file.h"

#include "tests/support/temporary_folder.h"

#include <algorithm>
#include <cstring>

namespace shardscope::test {

MemoryFile::MemoryFile(std::string bytes)
{
    m_identity.bytes = bytes.size();
    m_pieces.emplace(0, std::move(bytes));
}

MemoryFile::MemoryFile(uint64_t size, std::map<uint64_t, std::string> pieces)
    : m_pieces(std::move(pieces))
{
    m_identity.bytes = size;
}

std::unique_ptr<MemoryFile> MemoryFile::fromSparse(const std::filesystem::path& path)
{
    const std::string raw = slurp(path);
    const auto number = [&](size_t at) {
        uint64_t value = 0;
        std::memcpy(&value, raw.data() + at, sizeof value);
        return value;
    };
    std::map<uint64_t, std::string> pieces;
    for (size_t at = 8; at < raw.size();) {
        const uint64_t length = number(at + 8);
        pieces.emplace(number(at), raw.substr(at + 16, length));
        at += 16 + length;
    }
    return std::make_unique<MemoryFile>(number(0), std::move(pieces));
}

Status MemoryFile::readAt(uint64_t offset, std::span<uint8_t> out) const
{
    ++m_readCalls;
    m_readBytes += out.size();
    if (offset > size() || out.size() > size() - offset)
        return fail(ErrorCode::Damaged, "read past the end", m_path.string());
    if (m_badByte >= offset && m_badByte - offset < out.size())
        return fail(ErrorCode::Unreadable, "bad block", m_path.string());
    std::fill(out.begin(), out.end(), uint8_t{0});
    for (const auto& [begin, bytes] : m_pieces) {
        const uint64_t from = std::max(begin, offset);
        const uint64_t to = std::min(begin + bytes.size(), offset + out.size());
        if (from < to)
            std::memcpy(out.data() + (from - offset), bytes.data() + (from - begin), to - from);
    }
    return {};
}

std::string MemoryFile::bytesAt(uint64_t offset, uint64_t length) const
{
    std::string out(length, '\0');
    const Status read = readAt(offset, {reinterpret_cast<uint8_t*>(out.data()), out.size()});
    return read ? out : std::string();
}

} // namespace shardscope::test
