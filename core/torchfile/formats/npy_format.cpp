// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/formats/npy_format.h"

#include <fmt/format.h>

#include <charconv>

namespace shardscope {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kPreambleBytes = 10; ///< of version 1.0: magic, version, length in two bytes
constexpr size_t kAlignment = 64;
/// numpy keeps room for a first dimension of so many digits (GROWTH_AXIS_MAX_DIGITS), so that a file can grow
/// in place.
constexpr size_t kGrowthDigits = 21;
constexpr size_t kMaxDimensions = 64; ///< NPY_MAXDIMS

std::string headerOf(std::string_view type, const Shape& shape)
{
    std::string text
        = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shapeText(shape));
    if (!shape.empty())
        text.append(kGrowthDigits - std::to_string(shape.front()).size(), ' ');
    text.append(kAlignment - (kPreambleBytes + text.size() + 1) % kAlignment, ' ');
    text += '\n';
    std::string out(kMagic);
    out += std::string_view("\x01\x00", 2);
    out += static_cast<char>(text.size() & 0xFF);
    out += static_cast<char>(text.size() >> 8);
    return out + text;
}

/// Reads the dict that the header spells, in the one form in which numpy writes it.
class HeaderText
{
public:
    explicit HeaderText(std::string_view text)
        : m_text(text)
    {
    }

    bool take(std::string_view expected)
    {
        if (!m_text.starts_with(expected))
            return false;
        m_text.remove_prefix(expected.size());
        return true;
    }
    bool takeUpTo(char end, std::string& out)
    {
        const size_t at = m_text.find(end);
        if (at == std::string_view::npos)
            return false;
        out = m_text.substr(0, at);
        m_text.remove_prefix(at + 1);
        return true;
    }
    /// "(3, 4)", "(5,)", "()"
    bool takeShape(Shape& out)
    {
        if (!take("("))
            return false;
        while (!take(")")) {
            uint64_t size = 0;
            const auto [end, error] = std::from_chars(m_text.data(), m_text.data() + m_text.size(), size);
            if (error != std::errc() || out.size() == kMaxDimensions)
                return false;
            m_text.remove_prefix(static_cast<size_t>(end - m_text.data()));
            out.push_back(size);
            if (!m_text.starts_with(")") && !take(","))
                return false;
            take(" ");
        }
        return true;
    }
    [[nodiscard]] bool atPadding() const { return m_text.find_first_not_of(" \n") == std::string_view::npos; }

private:
    std::string_view m_text;
};

} // namespace

std::string_view npyType(DType dtype)
{
    switch (dtype) {
    case DType::Float64:
        return "<f8";
    case DType::Float32:
        return "<f4";
    case DType::Float16:
        return "<f2";
    case DType::Int64:
        return "<i8";
    case DType::Int32:
        return "<i4";
    case DType::Int16:
        return "<i2";
    case DType::Int8:
        return "|i1";
    case DType::UInt8:
        return "|u1";
    case DType::Bool:
        return "|b1";
    case DType::UInt16:
        return "<u2";
    case DType::UInt32:
        return "<u4";
    case DType::UInt64:
        return "<u8";
    case DType::Complex64:
        return "<c8";
    case DType::Complex128:
        return "<c16";
    default:
        return {};
    }
}

std::string npyHeader(DType dtype, const Shape& shape)
{
    const std::string_view type = npyType(dtype);
    return type.empty() ? std::string() : headerOf(type, shape);
}

std::string npyRawHeader(DType dtype, const Shape& shape)
{
    const std::string_view type = npyType(dtype);
    return headerOf(type.empty() ? "<V" + std::to_string(itemSize(dtype)) : std::string(type), shape);
}

Result<NpyHeader> parseNpyHeader(std::string_view head, const std::string& path)
{
    const auto bad = [&] { return fail(ErrorCode::Damaged, "it does not begin like a NumPy file", path); };
    if (head.size() < kPreambleBytes || !head.starts_with(kMagic))
        return bad();
    const auto byte = [&](size_t at) { return static_cast<uint64_t>(static_cast<uint8_t>(head[at])); };
    const uint64_t version = byte(6);
    if (version < 1 || version > 3 || (version > 1 && head.size() < kPreambleBytes + 2))
        return bad();
    const uint64_t preamble = version == 1 ? kPreambleBytes : kPreambleBytes + 2;
    uint64_t length = byte(8) | (byte(9) << 8);
    if (version > 1)
        length |= (byte(10) << 16) | (byte(11) << 24);
    NpyHeader out;
    out.dataOffset = preamble + length;
    if (out.dataOffset > kMaxNpyHeaderBytes)
        return fail(ErrorCode::Unsupported, "the header of the NumPy file is longer than 4 KiB", path);
    if (out.dataOffset > head.size())
        return bad();
    HeaderText text(head.substr(preamble, length));
    if (text.take("{'descr': ["))
        return fail(ErrorCode::Unsupported, "the elements of the NumPy file are records", path);
    if (text.take("{'descr': '")) {
        std::string type;
        if (text.takeUpTo('\'', type) && text.take(", 'fortran_order': True"))
            return fail(ErrorCode::Unsupported, "the NumPy file stores columns first (Fortran order)", path);
        out.type = std::move(type);
    }
    if (out.type.empty() || !text.take(", 'fortran_order': False, 'shape': ") || !text.takeShape(out.shape)
        || !text.take(", }") || !text.atPadding())
        return bad();
    return out;
}

} // namespace shardscope
