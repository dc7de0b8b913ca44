// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/formats/legacy_file.h"

#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_machine.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace shardscope {

namespace {

using namespace std::string_view_literals;

/// The number 0x1950A86A20F9469CFC6C, pickled.
constexpr std::string_view kMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"sv;
constexpr int64_t kProtocol = 1001;
constexpr uint64_t kFirstWindowBytes = uint64_t{64} << 10;
constexpr uint64_t kSmallPickleBytes = uint64_t{64} << 10; ///< of the protocol number and the machine's facts
constexpr uint64_t kCountBytes = 8;
constexpr size_t kPersistentParts = 6;

class LegacyReader
{
public:
    LegacyReader(const io::ReadFile& file, ReadMode mode, JobContext& job)
        : m_file(file)
        , m_mode(mode)
        , m_job(job)
    {
    }

    Result<LegacyFile> read()
    {
        m_at = kMagic.size();
        SHARDSCOPE_CHECK(readProtocol());
        SHARDSCOPE_CHECK(readMachine());
        const uint64_t objectBegin = m_at;
        SHARDSCOPE_TRY(PickleParse object, nextPickle("the object", PickleLimits()));
        addRecord("data.pkl", objectBegin, m_at - objectBegin);
        SHARDSCOPE_TRY(m_out.graph, inZipForm(object.graph));
        m_out.findings = std::move(object.findings);
        SHARDSCOPE_CHECK(readStorages());
        m_out.findings.push_back({code::kRecordUnchecked, Severity::Info,
            "the file has torch's legacy form, which has no checksums, so damage cannot be detected", {},
            {}});
        return std::move(m_out);
    }

private:
    [[nodiscard]] tl::unexpected<Error> failure(
        ErrorCode code, std::string message, std::string hint = {}) const
    {
        return fail(code, std::move(message), m_file.path().string(), std::move(hint));
    }

    /// The pickle at m_at; m_at moves to its end. Its length is known only afterwards: a window that turns
    /// out too short is tried again larger.
    Result<PickleParse> nextPickle(const std::string& what, const PickleLimits& limits)
    {
        const uint64_t rest = std::min(m_file.size() - m_at, limits.streamBytes);
        for (uint64_t window = kFirstWindowBytes;; window *= 8) {
            const uint64_t bytes = std::min(window, rest);
            auto parsed = parseWindow(bytes, limits);
            // What follows need not stay in memory with the pickle's own text.
            if (parsed && parsed->consumedBytes < bytes / 2)
                parsed = parseWindow(parsed->consumedBytes, limits);
            if (parsed) {
                m_at += parsed->consumedBytes;
                return parsed;
            }
            if (bytes < rest && parsed.error().code == ErrorCode::Damaged)
                continue;
            Error error = std::move(parsed).error();
            error.path = m_file.path().string();
            error.message = "in " + what + " of a legacy torch file: " + error.message;
            return forward(std::move(error));
        }
    }

    Result<PickleParse> parseWindow(uint64_t bytes, const PickleLimits& limits)
    {
        SHARDSCOPE_CHECK(m_job.poll());
        auto text = std::make_shared<std::string>(bytes, '\0');
        SHARDSCOPE_CHECK(m_file.readAt(m_at, {reinterpret_cast<uint8_t*>(text->data()), text->size()}));
        return parsePickle(std::move(text), limits, m_job);
    }

    Status readProtocol()
    {
        PickleLimits limits;
        limits.streamBytes = kSmallPickleBytes;
        SHARDSCOPE_TRY(const PickleParse parsed, nextPickle("the protocol number", limits));
        const auto protocol = asInteger(parsed.graph, parsed.graph.root());
        if (protocol == kProtocol)
            return {};
        return failure(ErrorCode::Unsupported,
            "this legacy torch file has protocol "
                + (protocol ? std::to_string(*protocol) : nodeText(parsed.graph, parsed.graph.root(), 40))
                + ", and torch only ever wrote " + std::to_string(kProtocol));
    }

    Status readMachine()
    {
        PickleLimits limits;
        limits.streamBytes = kSmallPickleBytes;
        SHARDSCOPE_TRY(const PickleParse parsed, nextPickle("the facts of the machine", limits));
        const NodeId little = lookup(parsed.graph, parsed.graph.root(), "little_endian");
        m_out.bigEndian = little != kNoNode && asBool(parsed.graph, little) == false;
        return {};
    }

    /// The same object with storages named as in zip files: without the part that makes one a view of
    /// another.
    Result<PickleGraph> inZipForm(const PickleGraph& graph)
    {
        PickleBuilder builder;
        PickleImporter importer(builder, graph);
        for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
            const NodeId id{i};
            if (graph.kind(id) != NodeKind::PersistentId)
                continue;
            const NodeId target = graph.target(id);
            SHARDSCOPE_CHECK(checkPersistentId(graph, target));
            const auto parts = graph.items(target);
            std::vector<NodeId> kept;
            for (size_t part = 0; part + 1 < kPersistentParts; ++part)
                kept.push_back(importer.import(parts[part]));
            importer.substitute(target, builder.tuple(kept));
        }
        const NodeId root = importer.import(graph.root());
        return builder.finish(root);
    }

    Status checkPersistentId(const PickleGraph& graph, NodeId target) const
    {
        const auto parts = graph.items(target);
        const bool tuple = graph.kind(target) == NodeKind::Tuple && !parts.empty();
        if (tuple && asString(graph, parts[0]) == "module")
            return failure(ErrorCode::Unsupported,
                "this legacy torch file holds modules together with their source code",
                "load it with torch and save the module's state_dict()");
        if (!tuple || parts.size() != kPersistentParts || asString(graph, parts[0]) != "storage")
            return failure(ErrorCode::Damaged,
                "the pickle refers to " + nodeText(graph, target, 60)
                    + ", which is not a storage of a legacy torch file",
                "torch would refuse the file; it was not written by torch.save");
        if (graph.kind(parts[5]) != NodeKind::None)
            return failure(ErrorCode::Unsupported,
                "this legacy torch file has storages that are parts of other storages, as torch before 0.4 "
                "wrote "
                "them",
                "load it with torch and save it again");
        return {};
    }

    Status readStorages()
    {
        std::unordered_map<std::string_view, DType> types;
        for (uint32_t i = 0; i < m_out.graph.nodeCount(); ++i) {
            if (const auto storage = asStorage(m_out.graph, NodeId{i}))
                types.emplace(storage->key, storage->dtype);
        }
        SHARDSCOPE_TRY(const PickleParse keys, nextPickle("the list of storages", PickleLimits()));
        if (keys.graph.kind(keys.graph.root()) != NodeKind::List)
            return failure(ErrorCode::Damaged, "the storages of a legacy torch file are not in a list");
        for (const NodeId item : sequenceItems(keys.graph, keys.graph.root())) {
            const auto key = asString(keys.graph, item);
            // Each key is used once: a repeated key is as invalid as one that the object does not use.
            const auto type = key ? types.find(*key) : types.end();
            if (type == types.end())
                return failure(ErrorCode::Damaged,
                    "the list of storages names " + nodeText(keys.graph, item, 40)
                        + " twice, or the object does not use it");
            SHARDSCOPE_CHECK(readStorage(std::string(*key), type->second));
            types.erase(type);
            if (m_torn)
                return {};
        }
        if (m_at < m_file.size())
            m_out.findings.push_back({code::kTrailingData, Severity::Warning,
                formatCount(m_file.size() - m_at) + " bytes follow the last storage; loaders ignore them", {},
                {}});
        return {};
    }

    Status readStorage(std::string key, DType type)
    {
        SHARDSCOPE_CHECK(m_job.poll());
        const std::string name = "data/" + std::move(key);
        if (m_file.size() - m_at < kCountBytes)
            return torn(name, 0);
        std::array<uint8_t, kCountBytes> raw{};
        SHARDSCOPE_CHECK(m_file.readAt(m_at, raw));
        uint64_t elements = 0;
        for (size_t i = 0; i < raw.size(); ++i)
            elements |= uint64_t{raw[i]} << (8 * i);
        m_at += kCountBytes;
        const auto bytes = checkedMultiply<uint64_t>(elements, itemSize(type));
        if (!bytes || *bytes > m_file.size() - m_at)
            return torn(name, bytes.value_or(0));
        addRecord(name, m_at, *bytes);
        m_at += *bytes;
        return {};
    }

    Status torn(const std::string& name, uint64_t bytes)
    {
        const std::string message
            = "the file ends within storage '" + toValidUtf8(name) + "'; it and what follows it are lost";
        if (m_mode == ReadMode::Strict)
            return failure(ErrorCode::Damaged, message);
        addRecord(name, m_at, bytes);
        m_out.records.back().damaged = true;
        m_out.findings.push_back({code::kFileTorn, Severity::Error, message, {}, {}});
        m_torn = true;
        return {};
    }

    void addRecord(std::string name, uint64_t offset, uint64_t bytes)
    {
        ZipRecord record;
        record.name = std::move(name);
        record.headerOffset = offset;
        record.payloadOffset = offset;
        record.bytes = record.inflatedBytes = bytes;
        record.crcPresent = bytes == 0;
        m_out.records.push_back(std::move(record));
    }

    const io::ReadFile& m_file;
    ReadMode m_mode;
    JobContext& m_job;
    LegacyFile m_out;
    uint64_t m_at = 0; ///< never past the end of the file
    bool m_torn = false;
};

} // namespace

bool isLegacyFile(std::span<const uint8_t> head)
{
    return head.size() >= kMagic.size()
        && std::equal(kMagic.begin(), kMagic.end(), head.begin(),
            [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Result<LegacyFile> readLegacyFile(const io::ReadFile& file, ReadMode mode, JobContext& job)
{
    return LegacyReader(file, mode, job).read();
}

} // namespace shardscope
