// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/event_watcher.h"

#include <QEvent>
#include <QMetaEnum>
#include <QThread>
#include <QTimer>

#include <algorithm>
#include <cstdio>
#include <ctime>

using namespace Qt::StringLiterals;

namespace shardscope::bench {

namespace {

constexpr double kSlow = 10; ///< milliseconds

QString nameOf(const QObject* receiver)
{
    const QString type = QString::fromLatin1(receiver->metaObject()->className());
    for (const QObject* object = receiver; object != nullptr; object = object->parent()) {
        if (!object->objectName().isEmpty())
            return QString(type % (object == receiver ? u" "_s : u" in "_s) % object->objectName());
    }
    return type;
}

QString eventName(QEvent::Type type)
{
    const char* name = QMetaEnum::fromType<QEvent::Type>().valueToKey(type);
    return name == nullptr ? u"event %1"_s.arg(type) : QString::fromLatin1(name);
}

} // namespace

bool EventWatcher::notify(QObject* receiver, QEvent* event)
{
    if (QThread::currentThread() != thread())
        return QApplication::notify(receiver, event);
    if (m_depth == 0) {
        m_innerMilliseconds = 0;
        m_inner.clear();
    }
    // Before: a handler may delete the receiver.
    const QString what
        = m_depth < 8 ? QString(nameOf(receiver) % u": "_s % eventName(event->type())) : QString();
    const Times start = now();
    ++m_depth;
    const bool result = QApplication::notify(receiver, event);
    --m_depth;
    leave(what, start);
    return result;
}

void EventWatcher::call(const QString& what, const std::function<void()>& work)
{
    m_innerMilliseconds = 0;
    m_inner.clear();
    const Times start = now();
    ++m_depth;
    work();
    --m_depth;
    leave(u"call: "_s % what, start);
}

/// The clock of the thread is a system call, which took a fifth of what was measured: not for inner events.
EventWatcher::Times EventWatcher::now() const
{
    const auto read = [](clockid_t clock) {
        timespec time{};
        clock_gettime(clock, &time);
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
    };
    const double passed = read(CLOCK_MONOTONIC);
    return {m_depth > 0 ? passed : read(CLOCK_THREAD_CPUTIME_ID), passed};
}

void EventWatcher::leave(const QString& what, Times start)
{
    const Times end = now();
    const double milliseconds = end.computed - start.computed;
    if (m_depth > 0) {
        if (m_depth < 8 && milliseconds >= m_innerMilliseconds * 0.9) { // of equals the innermost was first
            if (milliseconds > m_innerMilliseconds * 1.1 || m_inner.isEmpty())
                m_inner = what;
            m_innerMilliseconds = std::max(m_innerMilliseconds, milliseconds);
        }
        return;
    }
    if (m_step.isEmpty())
        return;
    if (std::find(m_order.begin(), m_order.end(), m_step) == m_order.end())
        m_order.push_back(m_step);
    Longest& longest = m_steps[m_step][what];
    ++longest.count;
    longest.passed = std::max(longest.passed, end.passed - start.passed);
    longest.above += milliseconds > kSlow ? 1 : 0;
    if (milliseconds <= longest.milliseconds)
        return;
    longest.milliseconds = milliseconds;
    longest.what = what;
    longest.inside = m_innerMilliseconds > milliseconds / 2
        ? QString(m_inner % u" %1 ms"_s.arg(m_innerMilliseconds, 0, 'f', 1))
        : QString();
}

void EventWatcher::runUntil(const std::function<bool()>& done)
{
    QTimer wake; // `done` may change without an event
    wake.start(20);
    for (int calm = 0; calm < 3; ++calm) {
        while (!done()) // with a time limit it would not wait, and take a core from the workers
            processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
        processEvents();
    }
}

void EventWatcher::print(double limit) const
{
    for (const QString& step : m_order) {
        std::vector<const Longest*> kinds;
        int count = 0;
        for (const auto& [what, longest] : m_steps.at(step)) {
            kinds.push_back(&longest);
            count += longest.count;
        }
        std::sort(kinds.begin(), kinds.end(),
            [](const Longest* a, const Longest* b) { return a->milliseconds > b->milliseconds; });
        std::printf(
            "%-34s %7d events, longest %7.1f ms\n", qPrintable(step), count, kinds.front()->milliseconds);
        for (const Longest* kind : kinds) {
            if (kind->milliseconds > limit)
                std::printf("    %7.1f ms (%.1f passed)  %s%s%s  (%d of %d above %.0f ms)\n",
                    kind->milliseconds, kind->passed, qPrintable(kind->what),
                    kind->inside.isEmpty() ? "" : ", in it ", qPrintable(kind->inside), kind->above,
                    kind->count, kSlow);
        }
    }
}

void EventWatcher::printLongest(const QString& steps) const
{
    const Longest* longest = nullptr;
    QString where;
    for (const QString& step : m_order) {
        for (const auto& [what, kind] : m_steps.at(step)) {
            if (step.startsWith(steps) && (longest == nullptr || kind.milliseconds > longest->milliseconds)) {
                longest = &kind;
                where = step;
            }
        }
    }
    if (longest != nullptr)
        std::printf("longest event of “%s”: %.1f ms (%s: %s)\n", qPrintable(steps), longest->milliseconds,
            qPrintable(where), qPrintable(longest->what));
}

} // namespace shardscope::bench
