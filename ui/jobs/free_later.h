// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

namespace shardscope::ui {

/// Releases `last` on a worker when called on the GUI thread, where freeing hundreds of thousands of names
/// would delay frames; immediately on any other thread and when the application ends.
void freeOnWorker(std::shared_ptr<const void> last);

/// The same object. The last owner of the result or of a copy frees it as freeOnWorker() does.
template <class T>
std::shared_ptr<T> freedOnWorker(std::shared_ptr<T> thing)
{
    T* const raw = thing.get();
    if (raw == nullptr)
        return thing;
    return std::shared_ptr<T>(
        raw, [kept = std::move(thing)](T* /*raw*/) mutable { freeOnWorker(std::move(kept)); });
}

} // namespace shardscope::ui
