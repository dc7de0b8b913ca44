// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/formats/safetensors_file.h"

#include "core/base/checked.h"
#include "core/base/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace shardscope {

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000; ///< tensor.rs, MAX_HEADER_SIZE
constexpr size_t kMaxTensors = 2'000'000;
constexpr size_t kMaxDimensions = 64;
constexpr std::string_view kMetadata = "__metadata__";

struct Name {
    std::string_view text;
    DType dtype;
};
constexpr std::array<Name, 18> kTypes{{{"BOOL", DType::Bool}, {"U8", DType::UInt8}, {"I8", DType::Int8},
    {"F8_E5M2", DType::Float8E5M2}, {"F8_E4M3", DType::Float8E4M3}, {"F8_E5M2FNUZ", DType::Float8E5M2Fnuz},
    {"F8_E4M3FNUZ", DType::Float8E4M3Fnuz}, {"F8_E8M0", DType::Float8E8M0}, {"I16", DType::Int16},
    {"U16", DType::UInt16}, {"F16", DType::Float16}, {"BF16", DType::BFloat16}, {"I32", DType::Int32},
    {"U32", DType::UInt32}, {"F32", DType::Float32}, {"F64", DType::Float64}, {"I64", DType::Int64},
    {"U64", DType::UInt64}}};

/// Reads the header's events one by one: no document is built, so that memory is proportional to the tensors.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json>
{
public:
    explicit HeaderReader(SafetensorsHeader& out)
        : m_out(out)
    {
    }

    ErrorCode code = ErrorCode::Damaged;
    std::string problem;

    bool null() override { return wrong("a null"); }
    bool boolean(bool /*value*/) override { return wrong("a boolean"); }
    bool number_integer(number_integer_t /*value*/) override { return wrong("a negative number"); }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override
    {
        return wrong("a number with a fraction, or one that is too large");
    }
    bool binary(binary_t& /*value*/) override { return wrong("binary data"); }
    bool number_unsigned(number_unsigned_t value) override
    {
        if (m_list == List::Shape) {
            if (m_tensor.shape.size() >= kMaxDimensions)
                return stop(ErrorCode::LimitExceeded, "a tensor has more than 64 dimensions");
            m_tensor.shape.push_back(value);
            return true;
        }
        if (m_list == List::Offsets && m_offsets.size() < 2) {
            m_offsets.push_back(value);
            return true;
        }
        return wrong("a number in a wrong place");
    }
    bool string(string_t& value) override
    {
        if (m_depth == 2 && m_inMetadata)
            return true; // what the writer says of the file; nothing here needs it
        if (m_depth != 2 || m_key != "dtype" || m_list != List::None)
            return wrong("a string in a wrong place");
        const auto known = std::find_if(
            kTypes.begin(), kTypes.end(), [&](const Name& type) { return type.text == value; });
        if (known == kTypes.end())
            return stop(ErrorCode::Unsupported,
                "`" + toValidUtf8(m_tensor.name) + "` has the dtype `" + toValidUtf8(value.substr(0, 40))
                    + "`, which this build does not know");
        m_tensor.dtype = known->dtype;
        return once(kHasType);
    }
    bool start_object(std::size_t /*elements*/) override
    {
        if (m_list != List::None || m_depth >= 2 || (m_depth == 1 && m_key.empty() && !m_hasKey))
            return wrong("an object in a wrong place");
        ++m_depth;
        m_hasKey = false;
        if (m_depth != 2)
            return true;
        m_inMetadata = m_key == kMetadata;
        m_tensor = {};
        m_tensor.name = m_key;
        m_offsets.clear();
        m_seen = 0;
        return true;
    }
    bool key(string_t& value) override
    {
        m_key = std::move(value);
        m_hasKey = true;
        if (m_depth == 1 && !m_names.insert(m_key).second)
            return stop(ErrorCode::Hostile, "it names `" + toValidUtf8(m_key) + "` twice");
        if (m_names.size() > kMaxTensors)
            return stop(ErrorCode::LimitExceeded, "it names more than two million tensors");
        return true;
    }
    bool end_object() override
    {
        --m_depth;
        if (m_depth != 1 || m_inMetadata) {
            m_inMetadata = false;
            return true;
        }
        if (m_seen != (kHasType | kHasShape | kHasOffsets) || m_offsets.size() != 2)
            return wrong("an entry without dtype, shape or offsets");
        m_tensor.byteOffset = m_offsets[0];
        if (m_offsets[1] < m_offsets[0])
            return stop(ErrorCode::Hostile, "`" + toValidUtf8(m_tensor.name) + "` ends before it begins");
        m_tensor.bytes = m_offsets[1] - m_offsets[0];
        m_out.tensors.push_back(std::move(m_tensor));
        return true;
    }
    bool start_array(std::size_t /*elements*/) override
    {
        if (m_depth != 2 || m_inMetadata || m_list != List::None)
            return wrong("a list in a wrong place");
        m_list = m_key == "shape" ? List::Shape : m_key == "data_offsets" ? List::Offsets : List::None;
        if (m_list == List::None)
            return wrong("a list in a wrong place");
        return once(m_list == List::Shape ? kHasShape : kHasOffsets);
    }
    bool end_array() override
    {
        m_list = List::None;
        return true;
    }
    bool parse_error(std::size_t position, const std::string& /*token*/,
        const nlohmann::json::exception& /*exception*/) override
    {
        return wrong("invalid JSON at byte " + std::to_string(position + 8));
    }

private:
    enum class List { None, Shape, Offsets };
    static constexpr unsigned kHasType = 1;
    static constexpr unsigned kHasShape = 2;
    static constexpr unsigned kHasOffsets = 4;

    bool once(unsigned what)
    {
        if ((m_seen & what) != 0)
            return stop(ErrorCode::Hostile, "`" + toValidUtf8(m_tensor.name) + "` has the same field twice");
        m_seen |= what;
        return true;
    }
    bool wrong(const std::string& what) { return stop(ErrorCode::Damaged, "it holds " + what); }
    bool stop(ErrorCode of, std::string what)
    {
        if (problem.empty()) {
            code = of;
            problem = std::move(what);
        }
        return false;
    }

    SafetensorsHeader& m_out;
    SafeTensor m_tensor;
    std::vector<uint64_t> m_offsets;
    std::set<std::string, std::less<>> m_names;
    std::string m_key;
    bool m_hasKey = false;
    bool m_inMetadata = false;
    int m_depth = 0;
    List m_list = List::None;
    unsigned m_seen = 0;
};

} // namespace

std::string_view safetensorsTypeName(DType dtype)
{
    const auto known
        = std::find_if(kTypes.begin(), kTypes.end(), [&](const Name& type) { return type.dtype == dtype; });
    return known == kTypes.end() ? std::string_view() : known->text;
}

Result<SafetensorsHeader> parseSafetensors(
    std::string_view text, uint64_t dataBegin, uint64_t dataBytes, const std::string& path)
{
    const auto bad = [&](ErrorCode code, const std::string& what) {
        return fail(code, "the header of the safetensors file is invalid: " + what, path,
            "it may be truncated, or not a safetensors file");
    };
    SafetensorsHeader out;
    HeaderReader reader(out);
    if (!text.starts_with('{'))
        return bad(ErrorCode::Damaged, "it is not a JSON object");
    // The writer pads with spaces; nlohmann's parser takes them for white space.
    if (!nlohmann::json::sax_parse(text, &reader))
        return bad(reader.code, reader.problem.empty() ? "it is not JSON" : reader.problem);
    std::stable_sort(out.tensors.begin(), out.tensors.end(), [](const SafeTensor& a, const SafeTensor& b) {
        return std::pair(a.byteOffset, a.bytes) < std::pair(b.byteOffset, b.bytes);
    });
    uint64_t end = 0;
    for (SafeTensor& tensor : out.tensors) {
        const std::string shown = "`" + toValidUtf8(tensor.name) + "`";
        const auto elements = elementCount(tensor.shape);
        const auto bytes
            = elements ? checkedMultiply(*elements, uint64_t{itemSize(tensor.dtype)}) : std::nullopt;
        if (!bytes || *bytes != tensor.bytes)
            return bad(ErrorCode::Hostile, shown + " has another size than its shape and dtype require");
        if (tensor.byteOffset != end)
            return bad(ErrorCode::Hostile,
                shown
                    + (tensor.byteOffset < end ? " overlaps another tensor"
                                               : " leaves a gap in front of it"));
        if (tensor.bytes > dataBytes - end)
            return bad(ErrorCode::Hostile, shown + " is beyond the end of the file");
        tensor.elements = *elements;
        end += tensor.bytes;
        tensor.byteOffset += dataBegin; // both inside the file
    }
    if (end != dataBytes)
        return bad(ErrorCode::Hostile, "its tensors do not fill the file");
    return out;
}

Result<SafetensorsHeader> readSafetensors(io::FileSystem& files, const io::Path& path, JobContext& job)
{
    SHARDSCOPE_CHECK(job.poll());
    SHARDSCOPE_TRY(const auto file, files.openRead(path));
    std::array<uint8_t, 8> length{};
    const auto torn = [&](const char* what) {
        return fail(ErrorCode::Damaged, std::string("the safetensors file ") + what, path.string(),
            "it may be truncated; copy it again");
    };
    if (file->size() < length.size())
        return torn("is shorter than its first field");
    SHARDSCOPE_CHECK(file->readAt(0, length));
    uint64_t headerBytes = 0;
    for (size_t i = length.size(); i-- > 0;)
        headerBytes = (headerBytes << 8) | length[i];
    const uint64_t rest = file->size() - length.size();
    if (headerBytes > kMaxHeaderBytes)
        return fail(ErrorCode::LimitExceeded,
            "the safetensors file says that its header has " + std::to_string(headerBytes)
                + " bytes; the format allows 100,000,000",
            path.string());
    if (headerBytes > rest)
        return torn("ends inside its header");
    std::string text(headerBytes, '\0');
    SHARDSCOPE_CHECK(file->readAt(8, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
    SHARDSCOPE_TRY(
        SafetensorsHeader out, parseSafetensors(text, 8 + headerBytes, rest - headerBytes, path.string()));
    out.identity = file->identity();
    return out;
}

} // namespace shardscope
