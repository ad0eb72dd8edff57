. "${BASH_SOURCE[0]%/*}/tm"
