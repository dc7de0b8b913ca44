// SPDX-License-Identifier: Apache-2.0
#include "ui/session/fingerprint_store.h"

namespace shardscope::ui {

void FingerprintStore::put(const std::weak_ptr<const Checkpoint>& checkpoint, const QString& fingerprint)
{
    const CheckpointPtr of = checkpoint.lock();
    std::erase_if(m_known, [&](const Known& known) {
        const CheckpointPtr other = known.checkpoint.lock();
        return !other || other == of;
    });
    if (of)
        m_known.push_back({checkpoint, fingerprint});
    Q_EMIT changed();
}

QString FingerprintStore::of(const CheckpointPtr& checkpoint) const
{
    for (const Known& known : m_known) {
        if (checkpoint && known.checkpoint.lock() == checkpoint)
            return known.fingerprint;
    }
    return {};
}

} // namespace shardscope::ui
