// SPDX-License-Identifier: Apache-2.0
#include "core/base/current_stop.h"

#include <utility>

namespace shardscope {

namespace {

thread_local const StopScope* innermost = nullptr;

} // namespace

StopScope::StopScope(std::stop_token stop, const StopScope* outer)
    : m_stop(std::move(stop))
    , m_outer(outer)
    , m_before(std::exchange(innermost, this))
{
}

StopScope::~StopScope()
{
    innermost = m_before;
}

const StopScope* StopScope::current()
{
    return innermost;
}

bool StopScope::isStopped() const
{
    for (const StopScope* scope = this; scope != nullptr; scope = scope->m_outer) {
        if (scope->m_stop.stop_requested())
            return true;
    }
    return false;
}

bool isThreadStopped()
{
    return innermost != nullptr && innermost->isStopped();
}

} // namespace shardscope
