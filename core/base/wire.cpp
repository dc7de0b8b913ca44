// SPDX-License-Identifier: Apache-2.0
#include "core/base/wire.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr size_t kMostRetries = 16; ///< of a hint: some dozens of bytes may come for each byte of a text

} // namespace

void WireWriter::number(uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        m_bytes += static_cast<char>(0x80 | (value & 0x7F));
    m_bytes += static_cast<char>(value);
}

void WireWriter::text(std::string_view value)
{
    number(value.size());
    m_bytes += value;
}

uint64_t WireReader::number()
{
    uint64_t value = 0;
    for (unsigned shift = 0; m_isGood && !m_rest.empty() && shift < 64; shift += 7) {
        const auto byte = static_cast<uint8_t>(m_rest.front());
        m_rest.remove_prefix(1);
        value |= uint64_t{byte & 0x7Fu} << shift;
        if (byte < 0x80)
            return value;
    }
    m_isGood = false;
    return 0;
}

std::string WireReader::text()
{
    const uint64_t bytes = number();
    require(bytes <= m_rest.size());
    if (!m_isGood)
        return {};
    std::string out(m_rest.substr(0, bytes));
    m_rest.remove_prefix(bytes);
    return out;
}

template <class Io, Wired<Error> Value>
void wire(Io& io, Value& error)
{
    io.word(error.code, ErrorCode::Internal);
    io(error.message, error.path, error.hint.text);
    std::vector<Retry> retries = error.hint.retries;
    retries.resize(std::min(retries.size(), kMostRetries));
    io.list(retries, kMostRetries, [&](Retry& retry) {
        io.word(retry.kind, Retry::Shown);
        io(retry.name, retry.value);
    });
    if constexpr (Io::kReads)
        error.hint.retries = std::move(retries);
}

template <class Io, Wired<Status> Value>
void wire(Io& io, Value& status)
{
    std::optional<Error> error;
    if (!status)
        error = status.error();
    io(error);
    if constexpr (Io::kReads)
        status = error ? Status(forward(std::move(*error))) : Status();
}

template void wire(WireWriter& io, const Error& error);
template void wire(WireWriter& io, Error& error);
template void wire(WireReader& io, Error& error);
template void wire(WireWriter& io, const Status& status);
template void wire(WireWriter& io, Status& status);
template void wire(WireReader& io, Status& status);

} // namespace shardscope
