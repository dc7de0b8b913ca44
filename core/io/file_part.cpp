// SPDX-License-Identifier: Apache-2.0
#include "core/io/file_part.h"

namespace shardscope::io {

Status FilePart::readAt(uint64_t offset, std::span<uint8_t> out) const
{
    if (offset > m_bytes || out.size() > m_bytes - offset)
        return fail(ErrorCode::Damaged,
            "bytes " + std::to_string(offset) + " to " + std::to_string(offset + out.size())
                + " are beyond the end of this part of the file",
            path().string());
    return m_whole.readAt(m_offset + offset, out);
}

} // namespace shardscope::io
