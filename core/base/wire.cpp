// SPDX-License-Identifier: Apache-2.0
#include "core/base/wire.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kMostRetries = 16; ///< of a hint: some dozens of bytes may come for each byte of a text

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

uint32_t WireReader::number32()
{
    const uint64_t value = number();
    m_isGood = m_isGood && value <= UINT32_MAX;
    return m_isGood ? static_cast<uint32_t>(value) : 0;
}

std::string WireReader::text()
{
    const uint64_t bytes = number();
    m_isGood = m_isGood && bytes <= m_rest.size();
    if (!m_isGood)
        return {};
    std::string out(m_rest.substr(0, bytes));
    m_rest.remove_prefix(bytes);
    return out;
}

uint64_t WireReader::count()
{
    const uint64_t value = number();
    m_isGood = m_isGood && value <= m_rest.size();
    return m_isGood ? value : 0;
}

void writeStatus(WireWriter& out, const Status& status)
{
    out.number(status ? 1 : 0);
    if (status)
        return;
    const Error& error = status.error();
    out.number(static_cast<uint64_t>(error.code));
    out.text(error.message);
    out.text(error.path);
    out.text(error.hint.text);
    const uint64_t retries = std::min<uint64_t>(error.hint.retries.size(), kMostRetries);
    out.number(retries);
    for (uint64_t i = 0; i < retries; ++i) {
        const Retry& retry = error.hint.retries[i];
        out.number(static_cast<uint64_t>(retry.kind));
        out.text(retry.name);
        out.text(retry.value);
    }
}

Status readStatus(WireReader& in)
{
    if (in.number() != 0 || !in.isGood())
        return {};
    Error error;
    const uint32_t code = in.number32();
    error.code = code > static_cast<uint32_t>(ErrorCode::Internal) ? ErrorCode::Internal
                                                                   : static_cast<ErrorCode>(code);
    error.message = in.text();
    error.path = in.text();
    error.hint = in.text();
    const uint64_t retries = in.count();
    if (retries > kMostRetries)
        (void)in.fail();
    for (uint64_t i = 0; i < retries && in.isGood(); ++i) {
        Retry& retry = error.hint.retries.emplace_back();
        const uint32_t kind = in.number32();
        retry.kind = kind > Retry::Shown ? Retry::Shown : static_cast<Retry::Kind>(kind);
        retry.name = in.text();
        retry.value = in.text();
    }
    return forward(std::move(error));
}

} // namespace shardscope
