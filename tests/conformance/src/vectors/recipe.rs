//! Contexts as recipes: `[{"t":[..]} | {"s":[run,from,to]} | {"c":[start,len]}]`.

use super::corpus;
use serde_json::Value;

/// The tokens that a recipe stands for: its own, a stretch of one of `sessions`, or a stretch of the corpus.
///
/// # Errors
/// The recipe is none, or names what is not there.
pub fn resolve(recipe: &Value, sessions: &[Option<Vec<u32>>]) -> Result<Vec<u32>, String> {
    let mut tokens = Vec::new();
    for part in recipe.as_array().ok_or("a recipe is a list")? {
        let fault = || format!("cannot follow {part}");
        let numbers = |key: &str| -> Option<Vec<usize>> {
            let list = part.get(key)?.as_array()?;
            list.iter().map(|number| number.as_u64().map(|number| number as usize)).collect()
        };
        if let Some(own) = numbers("t") {
            for token in own {
                tokens.push(u32::try_from(token).map_err(|_| fault())?);
            }
        } else if let Some([run, from, to]) = numbers("s").as_deref() {
            let session = sessions.get(*run).and_then(Option::as_ref).ok_or_else(fault)?;
            // As Python slices: what lies past the end is left out.
            let to = session.len().min(*to);
            tokens.extend(session.get((*from).min(to)..to).unwrap_or_default());
        } else if let Some([start, len]) = numbers("c").as_deref() {
            let corpus = corpus().map_err(|error| error.to_string())?;
            let stretch = corpus.get(*start..start + len).ok_or_else(fault)?;
            tokens.extend(stretch.iter().map(|token| u32::from(*token)));
        } else {
            return Err(fault());
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_follow_each_other() {
        let sessions = [None, Some(vec![10, 11, 12])];
        let recipe = json!([{"s": [1, 1, 9]}, {"t": [7, 4_294_967_295_u32]}, {"c": [0, 2]}]);
        let tokens = resolve(&recipe, &sessions).unwrap();
        assert_eq!(tokens[..4], [11, 12, 7, u32::MAX]);
        assert_eq!(tokens.len(), 6);
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        for recipe in [json!([{"s": [0, 0, 1]}]), json!([{"x": []}]), json!({}), json!([{"c": [0, 1_000_000_000]}])] {
            assert!(resolve(&recipe, &[None]).is_err(), "{recipe}");
        }
    }
}
