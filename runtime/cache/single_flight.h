// SingleFlightTable keeps made values by fingerprint; of several callers that want the same one,
// one makes it and the others wait. Failures are handed to those who waited and then forgotten, so
// that a later call tries again. Invariant: no lock is held while a value is being made.
// Thread-safe.
#ifndef FUSEBOX_RUNTIME_CACHE_SINGLE_FLIGHT_H_
#define FUSEBOX_RUNTIME_CACHE_SINGLE_FLIGHT_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "src/base/fingerprint.h"

namespace fusebox {

enum class FlightRole { kFound, kMade, kWaited };

template <typename Value>
class SingleFlightTable {
 public:
  using Made = absl::StatusOr<std::shared_ptr<const Value>>;

  // `role` (may be null) says how the value was come by. `make` must not ask for the same key.
  Made GetOrMake(const Fingerprint& key, absl::FunctionRef<Made()> make,
                 FlightRole* role = nullptr) {
    std::shared_ptr<Flight> flight;
    bool leads = false;
    {
      absl::MutexLock lock(&mutex_);
      std::shared_ptr<Flight>& slot = flights_[key];
      if (slot == nullptr) {
        slot = std::make_shared<Flight>();
        leads = true;
      }
      flight = slot;
    }
    if (!leads) {
      if (role != nullptr) {
        *role = flight->landed.HasBeenNotified() ? FlightRole::kFound : FlightRole::kWaited;
      }
      flight->landed.WaitForNotification();
      return flight->made;
    }
    if (role != nullptr) *role = FlightRole::kMade;
    // Also when `make` throws (bad_alloc): nobody may wait for ever.
    absl::Cleanup land = [&] {
      if (!flight->made.ok()) {
        absl::MutexLock lock(&mutex_);
        const auto it = flights_.find(key);
        if (it != flights_.end() && it->second == flight)
          flights_.erase(it);  // or forgotten and begun anew
      }
      flight->landed.Notify();
    };
    flight->made = make();
    return flight->made;
  }

  // The next call makes the value anew; those who hold the old one keep it.
  void Forget(const Fingerprint& key) {
    absl::MutexLock lock(&mutex_);
    flights_.erase(key);
  }

 private:
  struct Flight {
    absl::Notification landed;
    Made made = absl::InternalError("the thread that was making the value gave up");
  };

  absl::Mutex mutex_;
  absl::flat_hash_map<Fingerprint, std::shared_ptr<Flight>> flights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_CACHE_SINGLE_FLIGHT_H_
