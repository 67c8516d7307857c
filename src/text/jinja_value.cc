#include "text/jinja_value.h"

#include "base/check.h"
#include "text/jinja_error.h"
#include "text/jinja_unicode.h"

namespace tally::text::jinja {

size_t StringObj::length() {
  if (n_chars < 0) n_chars = static_cast<int64_t>(count_chars(text));
  return static_cast<size_t>(n_chars);
}

int64_t RangeObj::length() const {
  if (step > 0 && start < stop)
    return static_cast<int64_t>(
        (static_cast<uint64_t>(stop) - static_cast<uint64_t>(start) - 1) / static_cast<uint64_t>(step) + 1);
  if (step < 0 && start > stop) {
    const uint64_t stride = ~static_cast<uint64_t>(step) + 1;
    return static_cast<int64_t>((static_cast<uint64_t>(start) - static_cast<uint64_t>(stop) - 1) / stride + 1);
  }
  return 0;
}

// Values nest as deeply as a template likes, so objects are destroyed from a list and not by recursion.
void destroy(Object* object) {
  Heap* heap = object->heap;
  heap->live_ -= object->charged;
  object->next_dead = heap->dead_;
  heap->dead_ = object;
  if (heap->draining_) return;
  heap->draining_ = true;
  while (heap->dead_) {
    Object* o = heap->dead_;
    heap->dead_ = o->next_dead;
    delete o;
  }
  heap->draining_ = false;
}

void release_object(Object* object) {
  if (!object->immortal && --object->refs == 0) destroy(object);
}

Heap::~Heap() {
  for (auto& object : tracked_) object->clear();
  tracked_.clear();
  DCHECK(live_ == 0, "{} bytes of template values are still alive", live_);
}

void Heap::check(Object* fresh) {
  if (live_ <= limit_) return;
  live_ -= fresh->charged;
  delete fresh;
  raise(Err::Limit, 0, fmt::format("the template holds more than {} bytes of values", limit_));
}

void Heap::charge(Object* object, uint64_t bytes) {
  if (object->immortal) return;
  bytes += 64;
  if (bytes > object->charged) reserve(bytes - object->charged);
  live_ += bytes - object->charged;
  object->charged = bytes;
}

void Heap::reserve(uint64_t bytes) const {
  if (bytes > limit_ || live_ > limit_ - bytes)
    raise(Err::Limit, 0, fmt::format("the template needs more than {} bytes for its values", limit_));
}

void Heap::track(Object* object) {
  if (object->tracked) return;
  object->tracked = true;
  tracked_.emplace_back(object);
}

}  // namespace tally::text::jinja
