// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/torchfile/skeleton/skeleton_index.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr size_t kLongestPath = 4096;
constexpr size_t kMaxFolders = 16;
constexpr size_t kMaxKeys = 4096;
/// Offsets are added to lengths without a thought beyond this.
constexpr uint64_t kLargestFile = uint64_t{1} << 62;

/// The errors that opening the original may have given.
constexpr std::array kReasons{ErrorCode::Damaged, ErrorCode::Hostile, ErrorCode::LimitExceeded,
    ErrorCode::Unreadable, ErrorCode::NotACheckpoint, ErrorCode::Unsupported};

/// Reads the events one by one. Fields of later programs are ignored.
class IndexReader final : public nlohmann::json_sax<nlohmann::json>
{
public:
    explicit IndexReader(SkeletonIndex& out)
        : m_out(out)
    {
    }

    std::string schema;
    ErrorCode code = ErrorCode::Damaged;
    std::string problem;

    bool null() override { return true; }
    bool boolean(bool /*value*/) override { return true; }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return number(); }
    bool binary(binary_t& /*value*/) override { return wrong(); }
    bool number_integer(number_integer_t value) override
    {
        if (m_place == Place::File && m_key == "mtime_ns")
            m_file.modifiedNs = value;
        else
            return number();
        return true;
    }
    bool number_unsigned(number_unsigned_t value) override
    {
        if (m_place == Place::File && m_key == "bytes") {
            m_file.bytes = value;
        } else if (m_place == Place::File && m_key == "mtime_ns") {
            m_file.modifiedNs = static_cast<int64_t>(
                std::min<uint64_t>(value, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
        } else if (m_place == Place::Kept) {
            if (m_extents >= kMaxExtents)
                return stop(ErrorCode::LimitExceeded, "it has more than four million extents");
            if (!m_offset) {
                m_offset = value;
                return true;
            }
            ++m_extents;
            m_file.kept.push_back({*m_offset, value});
            m_offset.reset();
        }
        return true;
    }
    bool string(string_t& value) override
    {
        switch (m_place) {
        case Place::Root:
            return rootText(value);
        case Place::File:
            if (m_key == "path")
                return decode(value, m_file.path);
            return true;
        case Place::Reason:
            if (m_key == "message")
                m_file.unreadable->message = toValidUtf8(value);
            if (m_key == "code")
                m_file.unreadable->code = reasonOf(value);
            return true;
        case Place::Keys:
            if (m_keys->size() >= kMaxKeys)
                return stop(ErrorCode::LimitExceeded, "it lists more than 4,096 keys");
            m_keys->push_back(toValidUtf8(value));
            return true;
        case Place::Kept:
            return wrong();
        case Place::Outside:
        case Place::Files:
        case Place::Skipped:
            break;
        }
        return m_place == Place::Skipped || wrong();
    }
    bool key(string_t& value) override
    {
        m_key = std::move(value);
        return true;
    }
    bool start_object(std::size_t /*elements*/) override
    {
        switch (m_place) {
        case Place::Outside:
            return enter(Place::Root);
        case Place::Files:
            if (m_out.files.size() >= kMaxFiles)
                return stop(ErrorCode::LimitExceeded, "it has more than a million files");
            m_file = {};
            m_offset.reset();
            return enter(Place::File);
        case Place::File:
            if (m_key != "unreadable")
                return enter(Place::Skipped);
            m_file.unreadable = Error{ErrorCode::Damaged, {}, {}, {}};
            return enter(Place::Reason);
        case Place::Root:
        case Place::Skipped:
        case Place::Reason:
            return enter(Place::Skipped);
        case Place::Keys:
        case Place::Kept:
            break;
        }
        return wrong();
    }
    bool start_array(std::size_t /*elements*/) override
    {
        if (m_place == Place::Root && m_key == "files")
            return enter(Place::Files);
        if (m_place == Place::Root && (m_key == "redacted_keys" || m_key == "kept_keys")) {
            m_keys = m_key == "kept_keys" ? &m_out.keptKeys : &m_out.redactedKeys;
            return enter(Place::Keys);
        }
        if (m_place == Place::File && m_key == "kept")
            return enter(Place::Kept);
        const bool unknown = m_place == Place::Root || m_place == Place::File || m_place == Place::Skipped
            || m_place == Place::Reason;
        return unknown ? enter(Place::Skipped) : wrong();
    }
    bool end_object() override
    {
        if (m_place == Place::File) {
            if (m_file.path.empty())
                return stop(ErrorCode::Damaged, "a file has no path");
            m_out.files.push_back(std::move(m_file));
        }
        return leave();
    }
    bool end_array() override
    {
        if (m_place == Place::Kept && m_offset)
            return stop(ErrorCode::Damaged, "an extent has no length");
        return leave();
    }
    bool parse_error(std::size_t position, const std::string& /*token*/,
        const nlohmann::detail::exception& /*error*/) override
    {
        return stop(ErrorCode::Damaged, "it is not valid JSON at byte " + std::to_string(position));
    }

private:
    enum class Place : uint8_t { Outside, Root, Files, File, Kept, Reason, Keys, Skipped };
    static constexpr size_t kDeepest = 64;

    bool enter(Place place)
    {
        if (m_places.size() >= kDeepest)
            return stop(ErrorCode::Hostile, "it is nested more than 64 deep");
        m_places.push_back(m_place);
        m_place = place;
        m_key.clear();
        return true;
    }
    bool leave()
    {
        m_place = m_places.back();
        m_places.pop_back();
        m_key.clear();
        return true;
    }
    bool stop(ErrorCode why, std::string what)
    {
        code = why;
        problem = std::move(what);
        return false;
    }
    bool wrong() { return stop(ErrorCode::Damaged, "it has a value in a wrong place"); }
    /// A number that is not a plain count.
    bool number()
    {
        const bool counts = m_place == Place::Kept || (m_place == Place::File && m_key == "bytes");
        return !counts || stop(ErrorCode::Hostile, "a size is not a whole number, or negative");
    }
    bool decode(const std::string& text, std::string& into)
    {
        auto decoded = percentDecode(text);
        if (!decoded)
            return stop(ErrorCode::Damaged, "a name has an invalid %HH");
        into = std::move(*decoded);
        return true;
    }
    bool rootText(std::string& value)
    {
        if (m_key == "schema")
            schema = value;
        else if (m_key == "version")
            m_out.version = toValidUtf8(value);
        else if (m_key == "kind")
            m_out.kind = toValidUtf8(value);
        else if (m_key == "tag")
            return decode(value, m_out.tag);
        else if (m_key == "latest")
            return decode(value, m_out.latest.emplace());
        else if (m_key == "open")
            return decode(value, m_out.open);
        return true;
    }
    static ErrorCode reasonOf(std::string_view name)
    {
        const auto* found = std::find_if(kReasons.begin(), kReasons.end(),
            [&](ErrorCode reason) { return errorCodeName(reason) == name; });
        return found == kReasons.end() ? ErrorCode::Damaged : *found;
    }

    SkeletonIndex& m_out;
    Place m_place = Place::Outside;
    std::vector<Place> m_places;
    std::string m_key;
    SkeletonFile m_file;
    std::optional<uint64_t> m_offset;
    std::vector<std::string>* m_keys = nullptr;
    size_t m_extents = 0;
};

bool isPlainPath(std::string_view path)
{
    if (path.empty() || path.size() > kLongestPath || path.find('\0') != std::string_view::npos)
        return false;
    size_t folders = 0;
    for (std::string_view rest = path;;) {
        const size_t slash = rest.find('/');
        const std::string_view part = rest.substr(0, slash);
        if (part.empty() || part == "." || part == ".." || ++folders > kMaxFolders)
            return false;
        if (slash == std::string_view::npos)
            return true;
        rest.remove_prefix(slash + 1);
    }
}

Status checkExtents(const SkeletonFile& file)
{
    if (file.bytes > kLargestFile)
        return fail(ErrorCode::Hostile, "a file of the skeleton is larger than any disk", file.path);
    uint64_t end = 0;
    uint64_t kept = 0;
    for (const ByteExtent& extent : file.kept) {
        if (extent.bytes == 0 || extent.offset < end || extent.offset > file.bytes
            || extent.bytes > file.bytes - extent.offset)
            return fail(ErrorCode::Hostile,
                "the extents of a file of the skeleton overlap, are not in order or reach beyond its end",
                file.path);
        end = extent.offset + extent.bytes;
        kept += extent.bytes;
    }
    if (kept > kMaxKeptBytes)
        return fail(ErrorCode::LimitExceeded, "a file of the skeleton keeps more than 512 MiB", file.path);
    return {};
}

Status checkPaths(const SkeletonIndex& index)
{
    std::unordered_set<std::string_view> files;
    for (const SkeletonFile& file : index.files) {
        if (!isPlainPath(file.path))
            return fail(ErrorCode::Hostile, "a path in the skeleton is not plain and relative",
                toValidUtf8(file.path.substr(0, 200)));
        if (!files.insert(file.path).second)
            return fail(ErrorCode::Hostile, "two files of the skeleton have the same path", file.path);
    }
    for (const SkeletonFile& file : index.files) {
        const std::string_view path = file.path;
        for (size_t slash = path.find('/'); slash != std::string_view::npos;
             slash = path.find('/', slash + 1)) {
            if (files.contains(path.substr(0, slash)))
                return fail(
                    ErrorCode::Hostile, "a path in the skeleton goes through a file", toValidUtf8(path));
        }
    }
    if (!index.open.empty() && !isPlainPath(index.open))
        return fail(ErrorCode::Hostile, "the path that the skeleton says to open is not plain");
    return {};
}

} // namespace

Result<SkeletonIndex> parseSkeletonIndex(const std::string& text)
{
    SkeletonIndex out;
    IndexReader reader(out);
    if (!nlohmann::json::sax_parse(text, &reader))
        return fail(reader.code, "the skeleton's index cannot be read: " + reader.problem);
    if (reader.schema != kSkeletonSchema) {
        const bool later = reader.schema.starts_with("shardscope/skeleton/");
        return fail(later ? ErrorCode::Unsupported : ErrorCode::Damaged,
            "the skeleton's index has the schema `" + toValidUtf8(reader.schema.substr(0, 60)) + "`", {},
            later ? "a later release of Shardscope wrote it" : "");
    }
    SHARDSCOPE_CHECK(checkPaths(out));
    for (const SkeletonFile& file : out.files)
        SHARDSCOPE_CHECK(checkExtents(file));
    return out;
}

} // namespace shardscope
