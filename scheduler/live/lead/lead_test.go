package lead

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// server keeps one lease, as an API server does: who writes must have read the last version.
type server struct {
	mu      sync.Mutex
	record  *resourcelock.LeaderElectionRecord
	version int
	log     []string // what replicas did, in order
}

func (s *server) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, text)
}

// done returns what replicas did until now, in order.
func (s *server) done() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// holder returns who has the lease, "" for nobody.
func (s *server) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record == nil {
		return ""
	}
	return s.record.HolderIdentity
}

// give gives the lease to another holder.
func (s *server) give(holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = &resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15}
	s.version++
}

// remove deletes the lease.
func (s *server) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = nil
	s.version++
}

var errUnreachable = errors.New("connection refused")

// lock is the way of a replica to the server.
type lock struct {
	s    *server
	name string

	mu   sync.Mutex
	seen int
	down bool
}

func (l *lock) unreachable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down
}

func (l *lock) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
}

func (l *lock) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.unreachable() {
		return nil, nil, errUnreachable
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "x")
	}
	l.seen = l.s.version
	r := *l.s.record
	raw, err := json.Marshal(r)
	return &r, raw, err
}

func (l *lock) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.unreachable() {
		return errUnreachable
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.record != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "leases"}, "x")
	}
	l.s.version++
	l.seen, l.s.record = l.s.version, &r
	return nil
}

func (l *lock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.unreachable() {
		return errUnreachable
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.seen != l.s.version {
		return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "x", errors.New("changed"))
	}
	l.s.version++
	l.seen, l.s.record = l.s.version, &r
	if r.HolderIdentity == "" {
		l.s.log = append(l.s.log, l.name+" releases")
	}
	return nil
}

func (l *lock) RecordEvent(string) {}
func (l *lock) Identity() string   { return l.name }
func (l *lock) Describe() string   { return l.name }

// replica runs work as a replica with a lock, and returns the error of Run when work is over.
func (s *server) replica(ctx context.Context, l *lock, lost func(), work func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	d := (&Lease{Identity: l.name, OnLost: lost}).defaulted()
	go func() {
		done <- run(ctx, d, l, func(ctx context.Context) error {
			s.note(l.name + " begins")
			defer s.note(l.name + " ends")
			return work(ctx)
		})
	}()
	return done
}

func untilEnd(ctx context.Context) error { <-ctx.Done(); return nil }

// At a stop the lease is released after work has returned, however long that takes, and only then the other replica begins.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		first, stopFirst := context.WithCancel(t.Context())
		second, stopSecond := context.WithCancel(t.Context())
		a := s.replica(first, &lock{s: s, name: "a"}, nil, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(20 * time.Second) // of the bubble: the last bindings take longer than the lease lasts
			return nil
		})
		time.Sleep(time.Second)
		b := s.replica(second, &lock{s: s, name: "b"}, nil, untilEnd)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"a begins"}, s.done(), "the lease is renewed")
		stopFirst()
		require.NoError(t, <-a)
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"a begins", "a ends", "a releases", "b begins"}, s.done())
		stopSecond()
		require.NoError(t, <-b)
		require.Empty(t, s.holder())
	})
}

// A replica that never led ends without an error and writes nothing.
func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.give("other")
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		require.NoError(t, <-s.replica(ctx, &lock{s: s, name: "a"}, nil, untilEnd))
		require.Empty(t, s.done())
		require.Equal(t, "other", s.holder())
	})
}

// A leader whose lease another has taken stops at the next read of the lease, and leaves the lease to the other.
func TestStolen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var told time.Duration
		var cause error
		var stolen time.Time
		a := s.replica(t.Context(), &lock{s: s, name: "a"}, nil, func(ctx context.Context) error {
			<-ctx.Done()
			told, cause = time.Since(stolen), context.Cause(ctx)
			return errors.New("cut off")
		})
		time.Sleep(10 * time.Second)
		stolen = time.Now()
		s.give("thief")
		err := <-a
		require.ErrorIs(t, err, ErrLost)
		require.ErrorContains(t, err, "cut off", "work's own error is there too")
		require.ErrorIs(t, cause, ErrLost)
		require.LessOrEqual(t, told, 5*time.Second, "a renewal each 2 s finds out")
		require.Equal(t, []string{"a begins", "a ends"}, s.done(), "no release")
		require.Equal(t, "thief", s.holder())
	})
}

// A leader whose lease is deleted makes it again and goes on.
func TestDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		ctx, stop := context.WithCancel(t.Context())
		a := s.replica(ctx, &lock{s: s, name: "a"}, func() { s.note("lost") }, untilEnd)
		time.Sleep(10 * time.Second)
		s.remove()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "a", s.holder())
		stop()
		require.NoError(t, <-a)
		require.Equal(t, []string{"a begins", "a ends", "a releases"}, s.done())
	})
}

// A lease runs out by the clock of the replica that waits: a time of renewal that is an hour ahead does not hold it up.
func TestRenewTimeAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		ahead := metav1.NewTime(time.Now().Add(time.Hour))
		s.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "gone", LeaseDurationSeconds: 15, AcquireTime: ahead, RenewTime: ahead}
		ctx, stop := context.WithCancel(t.Context())
		came := time.Now()
		var began time.Duration
		a := s.replica(ctx, &lock{s: s, name: "a"}, nil, func(ctx context.Context) error {
			began = time.Since(came)
			return untilEnd(ctx)
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		require.NoError(t, <-a)
		require.GreaterOrEqual(t, began, 15*time.Second)
		require.LessOrEqual(t, began, 20*time.Second, "the lease lasts 15 s, and is read every 2 to 4.4 s")
	})
}

// A leader that cannot reach the server stops when the renew deadline is over, counted from its last renewal, and so before another
// may take the lease.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		way := &lock{s: s, name: "a"}
		a := s.replica(t.Context(), way, nil, untilEnd)
		time.Sleep(10 * time.Second)
		ctx, stop := context.WithCancel(t.Context())
		b := s.replica(ctx, &lock{s: s, name: "b"}, nil, untilEnd)
		time.Sleep(10 * time.Second)
		broken := time.Now()
		way.cut()
		require.ErrorIs(t, <-a, ErrLost)
		require.Less(t, time.Since(broken), 15*time.Second)
		time.Sleep(30 * time.Second)
		require.Equal(t, []string{"a begins", "a ends", "b begins"}, s.done())
		stop()
		require.NoError(t, <-b)
	})
}

// A stop that takes longer than the lease can be renewed hears that the lease is lost, before another may take it.
func TestLostDuringStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		way, lost := &lock{s: s, name: "a"}, make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		a := s.replica(ctx, way, func() { close(lost) }, func(ctx context.Context) error {
			<-ctx.Done()
			<-lost
			return context.Cause(ctx)
		})
		time.Sleep(10 * time.Second)
		next, end := context.WithCancel(t.Context())
		b := s.replica(next, &lock{s: s, name: "b"}, nil, untilEnd)
		time.Sleep(10 * time.Second)
		stop()
		way.cut()
		require.ErrorIs(t, <-a, context.Canceled, "the stop came first")
		time.Sleep(30 * time.Second)
		require.Equal(t, []string{"a begins", "a ends", "b begins"}, s.done())
		end()
		require.NoError(t, <-b)
	})
}

// A lease under which a request may be under way is not released: the next leader begins when it has run out.
func TestUnclear(t *testing.T) {
	for name, lost := range map[string]bool{"work could not finish": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				way := &lock{s: s, name: "a"}
				var free time.Time
				lease := (&Lease{Identity: "a", OnRenewed: func(until time.Time) { free = until }}).defaulted()
				first, stopFirst := context.WithCancel(t.Context())
				a := make(chan error, 1)
				go func() {
					a <- run(first, lease, way, func(ctx context.Context) error {
						<-ctx.Done()
						if way.mend(); lost {
							return nil
						}
						return errors.New("a request is under way")
					})
				}()
				time.Sleep(10 * time.Second)
				next, end := context.WithCancel(t.Context())
				defer end()
				var began time.Time
				b := s.replica(next, &lock{s: s, name: "b"}, nil, func(ctx context.Context) error {
					began = time.Now()
					return untilEnd(ctx)
				})
				time.Sleep(10 * time.Second)
				if lost {
					way.cut()
				} else {
					stopFirst()
				}
				require.Error(t, <-a)
				stopFirst()
				time.Sleep(time.Minute)
				synctest.Wait() // b has begun and waits
				require.Equal(t, "b", s.holder())
				require.False(t, began.Before(free), "%v, and not before %v", began, free)
				end()
				require.NoError(t, <-b)
			})
		})
	}
}

// A stop whose release cannot reach the server ends all the same: the lease runs out by itself.
func TestReleaseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		way := &lock{s: s, name: "a"}
		ctx, stop := context.WithCancel(t.Context())
		a := s.replica(ctx, way, nil, untilEnd)
		time.Sleep(10 * time.Second)
		way.cut()
		stop()
		require.NoError(t, <-a)
		require.Equal(t, "a", s.holder())
	})
}

// Many replicas that come and go at random: never two at work, and whoever works holds the lease.
func TestNeverTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var mu sync.Mutex
		working, most, turns := 0, 0, 0
		var all sync.WaitGroup
		for k := range 8 {
			all.Go(func() {
				for turn := range 10 {
					way := &lock{s: s, name: string(rune('a'+k)) + string(rune('0'+turn))}
					ctx, stop := context.WithTimeout(t.Context(), time.Duration(7+k*3+turn*5)*time.Second)
					lost := make(chan struct{})
					err := <-s.replica(ctx, way, func() { close(lost) }, func(ctx context.Context) error {
						mu.Lock()
						working, turns = working+1, turns+1
						most = max(most, working)
						mu.Unlock()
						if (k+turn)%3 == 0 {
							way.cut()
						}
						<-ctx.Done()
						select { // a stop takes time, unless the lease is lost meanwhile
						case <-time.After(time.Duration(3*k) * time.Second):
						case <-lost:
						}
						mu.Lock()
						working--
						mu.Unlock()
						return nil
					})
					stop()
					if err != nil && !errors.Is(err, ErrLost) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, 1, most)
		require.Greater(t, turns, 5)
		begins := slices.DeleteFunc(s.done(), func(x string) bool { return len(x) < 3 || x[3:] != "begins" })
		require.Len(t, begins, turns)
	})
}

// Durations of 0 are client-go's defaults, and others stay.
func TestDefaulted(t *testing.T) {
	d := (&Lease{}).defaulted()
	require.Equal(t, []time.Duration{15 * time.Second, 10 * time.Second, 2 * time.Second}, []time.Duration{d.Duration, d.RenewDeadline, d.RetryPeriod})
	d = (&Lease{Duration: 3, RenewDeadline: 2, RetryPeriod: 1}).defaulted()
	require.Equal(t, []time.Duration{3, 2, 1}, []time.Duration{d.Duration, d.RenewDeadline, d.RetryPeriod})
}
