// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/pickle/pickle_graph.h"

#include <array>
#include <map>

namespace shardscope {

namespace {

constexpr std::string_view kModule = "torch.distributed.checkpoint.metadata";
constexpr std::string_view kStorageModule = "torch.distributed.checkpoint.filesystem";
/// _version.py of 2.15; older releases do not look at it.
constexpr std::string_view kVersion = "1.0.0";

class MetadataPickle
{
public:
    Result<std::string> emit(std::span<const DcpEntry> entries)
    {
        const NodeId described = m_builder.dict();
        const NodeId paths = m_builder.dict();
        const NodeId stored = m_builder.dict();
        for (const DcpEntry& entry : entries) {
            if (!isValidUtf8(entry.key))
                return fail(ErrorCode::Unsupported,
                    "`" + toValidUtf8(entry.key) + "` is not a name that torch can load");
            const NodeId key = m_builder.string(entry.key);
            m_builder.setItem(
                described, key, entry.isTensor ? tensor(entry) : instance("BytesStorageMetadata"));
            m_builder.setItem(paths, key, path(entry.path));
            if (!entry.isTensor)
                m_builder.setItem(stored, placeIndex(key, kNoNode, kNoNode), info(entry.place));
            for (size_t i = 0; i < entry.chunks.size(); ++i)
                m_builder.setItem(stored,
                    placeIndex(
                        key, size(entry.chunks[i].offsets), m_builder.integer(static_cast<int64_t>(i))),
                    info(entry.chunks[i].place));
        }
        return emitPickle(m_builder.finish(object(kModule, "Metadata",
            {{"state_dict_metadata", described}, {"planner_data", paths}, {"storage_data", stored},
                {"storage_meta", m_builder.none()}, {"version", m_builder.string(kVersion)}})));
    }

private:
    using Attributes = std::initializer_list<std::pair<std::string_view, NodeId>>;

    NodeId named(std::string_view module, std::string_view name)
    {
        const auto [known, isNew] = m_globals.try_emplace({std::string(module), std::string(name)}, kNoNode);
        if (isNew)
            known->second = m_builder.global(module, name);
        return known->second;
    }
    NodeId word(std::string_view text)
    {
        const auto [known, isNew] = m_words.try_emplace(std::string(text), kNoNode);
        if (isNew)
            known->second = m_builder.string(text);
        return known->second;
    }
    NodeId instance(std::string_view name, std::string_view module = kModule)
    {
        return m_builder.newObj(named(module, name), m_builder.tuple({}));
    }
    NodeId object(std::string_view module, std::string_view name, Attributes attributes)
    {
        const NodeId out = instance(name, module);
        const NodeId state = m_builder.dict();
        for (const auto& [key, value] : attributes)
            m_builder.setItem(state, word(key), value);
        m_builder.setState(out, state);
        return out;
    }
    NodeId call(std::string_view module, std::string_view name, NodeId argument)
    {
        return m_builder.reduce(named(module, name), m_builder.tuple(std::array{argument}));
    }
    NodeId size(const Shape& shape)
    {
        std::vector<NodeId> sizes;
        for (const uint64_t value : shape)
            sizes.push_back(m_builder.integer(static_cast<int64_t>(value)));
        return call("torch", "Size", m_builder.tuple(sizes));
    }
    NodeId path(const std::vector<DcpStep>& steps)
    {
        std::vector<NodeId> out;
        for (const DcpStep& step : steps) {
            const auto* key = std::get_if<std::string>(&step);
            out.push_back(key ? m_builder.string(*key) : m_builder.integer(std::get<int64_t>(step)));
        }
        return m_builder.tuple(out);
    }
    NodeId tensor(const DcpEntry& entry)
    {
        // Five parts, which all releases read; releases with strides read them as a row-major tensor.
        const std::array parts{named("torch", dtypeName(entry.dtype)), layout(), m_builder.boolean(false),
            memoryFormat(), m_builder.boolean(false)};
        const NodeId properties = instance("TensorProperties");
        m_builder.setState(properties, m_builder.tuple(parts));
        std::vector<NodeId> chunks;
        for (const DcpChunk& chunk : entry.chunks)
            chunks.push_back(object(kModule, "ChunkStorageMetadata",
                {{"offsets", size(chunk.offsets)}, {"sizes", size(chunk.sizes)}}));
        return object(kModule, "TensorStorageMetadata",
            {{"properties", properties}, {"size", size(entry.shape)}, {"chunks", m_builder.list(chunks)}});
    }
    NodeId layout()
    {
        if (m_layout == kNoNode)
            m_layout = call("torch.serialization", "_get_layout", m_builder.string("torch.strided"));
        return m_layout;
    }
    NodeId memoryFormat()
    {
        if (m_memoryFormat == kNoNode)
            m_memoryFormat = call(kModule, "_MEM_FORMAT_ENCODING", m_builder.integer(0));
        return m_memoryFormat;
    }
    NodeId placeIndex(NodeId key, NodeId offset, NodeId number)
    {
        const NodeId none = m_builder.none();
        return object(kModule, "MetadataIndex",
            {{"fqn", key}, {"index", number == kNoNode ? none : number},
                {"offset", offset == kNoNode ? none : offset}});
    }
    NodeId info(const DcpPlace& place)
    {
        return object(kStorageModule, "_StorageInfo",
            {{"relative_path", word(place.file)},
                {"offset", m_builder.integer(static_cast<int64_t>(place.offset))},
                {"length", m_builder.integer(static_cast<int64_t>(place.bytes))}});
    }

    PickleBuilder m_builder;
    std::map<std::pair<std::string, std::string>, NodeId> m_globals;
    std::map<std::string, NodeId> m_words; ///< those that repeat, each made once
    NodeId m_layout = kNoNode;
    NodeId m_memoryFormat = kNoNode;
};

} // namespace

Result<std::string> dcpMetadataBytes(std::span<const DcpEntry> entries)
{
    return MetadataPickle().emit(entries);
}

} // namespace shardscope
