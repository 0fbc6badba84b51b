package scheduler

import "fmt"

// Factory makes a plugin for one profile. args are what the profile says about it, nil for the defaults.
type Factory func(args any, h *Handle) (Plugin, error)

// Registry knows how to make plugins, by name.
type Registry map[string]Factory

// Register adds a plugin. The error says that the name is taken.
func (r Registry) Register(name string, f Factory) error {
	if _, ok := r[name]; ok {
		return fmt.Errorf("a plugin named %v already exists", name)
	}
	r[name] = f
	return nil
}

// Unregister removes a plugin. The error says that there is none of that name.
func (r Registry) Unregister(name string) error {
	if _, ok := r[name]; !ok {
		return fmt.Errorf("no plugin named %v exists", name)
	}
	delete(r, name)
	return nil
}

// Merge adds all plugins of another registry. The error names the first, by name, that is there already; those before it
// have been added.
func (r Registry) Merge(other Registry) error {
	for _, name := range sortedKeys(other) {
		if err := r.Register(name, other[name]); err != nil {
			return err
		}
	}
	return nil
}
