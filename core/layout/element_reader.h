// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/fragments.h"

#include <memory>

namespace shardscope {

class OpenElements;

/// Unsupported for a file whose numbers are big-endian, SourceChanged if another one was opened.
Status checkOpened(const CheckpointFile& file, const io::ReadFile& opened);

/// readElements() again and again, with the file of the last range kept open. Not thread-safe.
class ElementReader
{
public:
    ElementReader(io::FileSystem& files, const Checkpoint& checkpoint);
    ~ElementReader();
    ElementReader(const ElementReader&) = delete;
    ElementReader& operator=(const ElementReader&) = delete;

    Status read(const StateRange& range, std::span<uint8_t> out);

private:
    const Checkpoint& m_checkpoint;
    std::unique_ptr<OpenElements> m_open;
};

} // namespace shardscope
