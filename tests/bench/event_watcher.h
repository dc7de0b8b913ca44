// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QString>

#include <functional>
#include <map>
#include <vector>

namespace shardscope::bench {

/// An application that measures how long each event keeps the GUI thread, per step. It measures CPU time, so
/// that other processes do not count, and wall time. Of nested events only the outermost counts; the longest
/// one inside is named.
class EventWatcher : public QApplication
{
public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override;

    /// What follows belongs to this.
    void begin(const QString& step) { m_step = step; }
    /// Calls `work` as one event: a direct call keeps the thread, too.
    void call(const QString& what, const std::function<void()>& work);
    /// Handles events until `done`, and then once more what is left.
    void runUntil(const std::function<bool()>& done);
    /// Prints the longest event of every step, and all that took longer than `limit` milliseconds.
    void print(double limit) const;
    /// Prints the longest event of all steps whose names begin so.
    void printLongest(const QString& steps) const;

private:
    struct Times {
        double computed = 0; ///< milliseconds
        double passed = 0;
    };
    struct Longest {
        double milliseconds = 0; ///< computed
        double passed = 0; ///< of any of the kind
        QString what; ///< receiver and event
        QString inside; ///< the longest that was handled inside it, where that is most of it
        int above = 0; ///< how many of this kind took longer than kSlow
        int count = 0;
    };
    [[nodiscard]] Times now() const;
    void leave(const QString& what, Times start);

    QString m_step;
    int m_depth = 0;
    double m_innerMilliseconds = 0; ///< of what is handled inside
    QString m_inner;
    std::vector<QString> m_order;
    std::map<QString, std::map<QString, Longest>> m_steps; ///< by step, by receiver and event
};

} // namespace shardscope::bench
